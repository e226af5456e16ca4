/* Records, as they cross the socket between a rank and its agent. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* reserve makes room for n bytes at the end of b. */
void *golaunch__reserve(struct buffer *b, size_t n)
{
	if (b->begin == b->end)
		b->begin = b->end = 0;
	if (b->end + n > b->room && b->begin > 0) {
		memmove(b->bytes, b->bytes + b->begin, b->end - b->begin);
		b->end -= b->begin;
		b->begin = 0;
	}
	if (b->end + n > b->room) {
		size_t room = b->room ? b->room : 4096;

		while (room < b->end + n)
			room *= 2;
		b->bytes = realloc(b->bytes, room);
		if (!b->bytes)
			abort(); /* there is no way on without memory */
		b->room = room;
	}
	return b->bytes + b->end;
}

size_t golaunch__varint(unsigned char *b, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		b[n++] = (unsigned char)(v | 0x80);
	b[n++] = (unsigned char)v;
	return n;
}

/* number reads a varint at *at of n bytes, and goes past it. */
int golaunch__number(const unsigned char *b, size_t n, size_t *at, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; *at < n && shift <= 63; shift += 7) {
		*v |= (uint64_t)(b[*at] & 0x7f) << shift;
		if (b[(*at)++] < 0x80)
			return 0;
	}
	return -1;
}

/* put appends r with its length before it. */
void golaunch__put(struct buffer *b, const struct record *r)
{
	const uint64_t fields[] = {
		r->comm, r->seq, (uint64_t)(r->src + 1), (uint64_t)r->dst, (uint64_t)r->count,
		(uint64_t)(r->off + 1), (uint64_t)r->size, r->length,
	};
	unsigned char *p = golaunch__reserve(b, 4 + MAX_SIZE - MAX_BODY + r->length);
	size_t n = 4;

	p[n++] = (unsigned char)(r->kind | (r->each ? 0x80 : 0));
	p[n++] = (unsigned char)r->op;
	p[n++] = (unsigned char)r->fn;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		n += golaunch__varint(p + n, fields[i]);
	if (r->length > 0)
		memcpy(p + n, r->body, r->length);
	n += r->length;
	p[0] = (unsigned char)((n - 4) >> 24);
	p[1] = (unsigned char)((n - 4) >> 16);
	p[2] = (unsigned char)((n - 4) >> 8);
	p[3] = (unsigned char)(n - 4);
	b->end += n;
}

/* parse reads the record of n bytes at b. */
int golaunch__parse(const unsigned char *b, size_t n, struct record *r)
{
	uint64_t fields[8];
	size_t at = 3;

	if (n < 3)
		return golaunch__fail("a record of the agent is cut short");
	for (int i = 0; i < 8; i++)
		if (golaunch__number(b, n, &at, &fields[i]))
			return golaunch__fail("a record of the agent is cut short");
	if (fields[7] != n - at || fields[2] > INT32_MAX || fields[3] > INT32_MAX ||
	    fields[4] > INT32_MAX || fields[5] > INT64_MAX / 2 || fields[6] > INT64_MAX / 2)
		return golaunch__fail("a record of the agent is malformed");
	r->kind = b[0] & 0x7f;
	r->each = b[0] >> 7;
	r->op = b[1];
	r->fn = b[2];
	r->comm = fields[0];
	r->seq = fields[1];
	r->src = (int64_t)fields[2] - 1;
	r->dst = (int64_t)fields[3];
	r->count = (int64_t)fields[4];
	r->off = (int64_t)fields[5] - 1;
	r->size = (int64_t)fields[6];
	r->body = b + at;
	r->length = n - at;
	return 0;
}
