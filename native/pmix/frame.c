/* Frames, which package pmix of golaunch writes and reads, too. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "library.h"

/*
 * Bodies of the agent's messages, a letter for each field: u number, i signed number,
 * q number of eight bytes, y byte, t text, n text no longer than a namespace, k than a
 * key, d data; [ ] is a list of what it encloses.
 */
static const char *const bodies[] = {
	[KIND_INIT] = "unutt",
	[KIND_WORLD] = "nu[t][uu[t]t][uuuu]nui[ut]tuu",
	[KIND_FORGET] = "n",
	[KIND_GONE] = "nu",
	[KIND_DONE] = "i",
	[KIND_DATA] = "id",
	[KIND_FOUND] = "i[nukd]",
	[KIND_SPAWNED] = "in",
	[KIND_GROUPED] = "iq[nu][d]",
	[KIND_ASK] = "nu",
	[KIND_NOTIFY] = "inuy[nu]d",
	[KIND_END] = "",
	[KIND_PING] = "",
};

static uint32_t little(const unsigned char *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

const char *frame_head(struct frame *f, const unsigned char head[FRAME_HEAD])
{
	uint32_t length = little(head);

	if (length < FRAME_COUNTED || length > FRAME_MOST)
		return "its length cannot be";
	f->kind = head[4];
	f->request = little(head + 5);
	f->length = length - FRAME_COUNTED;
	f->body = NULL;
	if (f->kind >= sizeof bodies / sizeof *bodies || !bodies[f->kind])
		return "its kind is unknown";
	return NULL;
}

/* past finds what follows a list's items in a format. */
static const char *past(const char *items)
{
	for (int depth = 1; depth > 0; items++)
		depth += (*items == '[') - (*items == ']');
	return items;
}

static const char *const too_short = "it ends within a field";

/* walk goes through fields that end at end, or with the ']' of their list. */
static const char *walk(const char *format, const unsigned char **at, const unsigned char *end)
{
	for (; *format && *format != ']'; format++) {
		size_t left = (size_t)(end - *at);
		size_t size = *format == 'y' ? 1 : *format == 'q' ? 8 : 4;
		const char *wrong;
		uint32_t n;

		if (left < size)
			return too_short;
		if (*format == 'y' || *format == 'q' || *format == 'u' || *format == 'i') {
			*at += size;
			continue;
		}
		n = little(*at);
		*at += 4;
		if (n > left - 4) /* an item has a byte or more */
			return too_short;
		if (*format == '[') {
			for (uint32_t i = 0; i < n; i++) {
				wrong = walk(format + 1, at, end);
				if (wrong)
					return wrong;
			}
			format = past(format + 1) - 1;
			continue;
		}
		if (*format != 'd' && memchr(*at, 0, n))
			return "a text has a NUL";
		if ((*format == 'n' && n > PX_NAMESPACE) || (*format == 'k' && n > PX_KEY))
			return "a name is too long";
		*at += n;
	}
	return NULL;
}

const char *frame_check(const struct frame *f)
{
	const unsigned char *at = f->body, *end = f->body + f->length;
	const char *wrong = walk(bodies[f->kind], &at, end);

	if (wrong)
		return wrong;
	return at == end ? NULL : "it has bytes too many";
}

uint8_t read_u8(struct reader *r)
{
	return *r->at++;
}

uint32_t read_u32(struct reader *r)
{
	uint32_t v = little(r->at);

	r->at += 4;
	return v;
}

uint64_t read_u64(struct reader *r)
{
	uint64_t low = read_u32(r);

	return low | (uint64_t)read_u32(r) << 32;
}

char *read_text(struct reader *r)
{
	uint32_t n = read_u32(r);
	char *text = (char *)r->at - 1; /* over its length, which has been read */

	memmove(text, r->at, n);
	text[n] = 0;
	r->at += n;
	return text;
}

unsigned char *read_data(struct reader *r, uint32_t *length)
{
	unsigned char *data;

	*length = read_u32(r);
	data = r->at;
	r->at += *length;
	return data;
}

static unsigned char *room(struct out *o, size_t n)
{
	unsigned char *at;

	if (o->n + n > o->room) {
		o->room = 2 * o->room > o->n + n ? 2 * o->room : o->n + n;
		o->bytes = realloc(o->bytes, o->room);
		if (!o->bytes)
			die("no memory for a message of %zu bytes", o->room);
	}
	at = o->bytes + o->n;
	o->n += n;
	return at;
}

static void put(unsigned char *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b[i] = (unsigned char)(v >> 8 * i);
}

void out_begin(struct out *o, enum kind kind, uint32_t request)
{
	*o = (struct out){ 0 };
	out_u32(o, 0);
	out_u8(o, (uint8_t)kind);
	out_u32(o, request);
}

void out_u8(struct out *o, uint8_t v)
{
	*room(o, 1) = v;
}

void out_u32(struct out *o, uint32_t v)
{
	put(room(o, 4), v);
}

void out_data(struct out *o, const void *data, size_t n)
{
	if (n > FRAME_MOST) /* so is the frame: out_end says so */
		n = FRAME_MOST;
	out_u32(o, (uint32_t)n);
	out_bytes(o, data, n);
}

void out_bytes(struct out *o, const void *bytes, size_t n)
{
	if (n > 0)
		memcpy(room(o, n), bytes, n);
}

void out_text(struct out *o, const char *text)
{
	out_data(o, text, text ? strlen(text) : 0);
}

bool out_end(struct out *o)
{
	if (o->n - 4 > FRAME_MOST) {
		free(o->bytes);
		o->bytes = NULL;
		return false;
	}
	put(o->bytes, (uint32_t)(o->n - 4));
	return true;
}

void *take(size_t items, size_t bytes)
{
	void *memory = calloc(items ? items : 1, bytes ? bytes : 1);

	if (!memory)
		die("no memory for %zu items of %zu bytes", items, bytes);
	return memory;
}

char *take_text(const char *text, size_t n)
{
	char *copy = take(n + 1, 1);

	memcpy(copy, text, n);
	return copy;
}
