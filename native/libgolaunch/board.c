/* The world's bulletin board. docs/pmi.md has the file's format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

int golaunch_put(golaunch_job *job, const char *key, const void *value, size_t size)
{
	size_t n;
	unsigned char *body;
	int rc;

	if (!job)
		return golaunch__no_job("put");
	if (!key || (size > 0 && !value))
		return golaunch__fail("put: NULL is no %s", key ? "value" : "key");
	n = strlen(key);
	if (n > MAX_KEY)
		return golaunch__fail("put: key of %zu bytes, at most %d are allowed", n, MAX_KEY);
	if (size > MAX_VALUE)
		return golaunch__fail("put: value of %zu bytes, at most %d are allowed", size, MAX_VALUE);
	body = malloc(n + size + 1);
	if (!body)
		return golaunch__fail("put: out of memory");
	memcpy(body, key, n);
	if (size > 0)
		memcpy(body + n, value, size);
	rc = golaunch__end(golaunch__other("put", job, &(struct record){.kind = PUT, .size = (int64_t)n, .body = body, .length = n + size}), NULL);
	free(body);
	return rc;
}

int golaunch_fence(golaunch_job *job) { return golaunch__end(golaunch__other("fence", job, &(struct record){.kind = FENCE}), NULL); }

int golaunch_get(golaunch_job *job, const char *key, char **value, size_t *size)
{
	golaunch_request *q;
	size_t n;

	if (!job)
		return golaunch__no_job("get");
	if (!key || !value)
		return golaunch__fail("get: NULL is no %s", key ? "room for the value" : "key");
	n = strlen(key);
	*value = NULL;
	if (size)
		*size = 0;
	if (n == 0)
		return golaunch__fail("get: empty key");
	if (n > MAX_KEY)
		return golaunch__fail("get: key of %zu bytes, at most %d are allowed", n, MAX_KEY);
	q = golaunch__other("get", job, &(struct record){.kind = GET, .body = (const unsigned char *)key, .length = n});
	if (!q)
		return -1;
	while (!q->done)
		golaunch__progress(job);
	*value = q->value;
	q->value = NULL;
	if (size)
		*size = (size_t)q->got;
	return golaunch__end(q, NULL);
}

struct golaunch_board {
	unsigned char *bytes;
	size_t size;
	uint32_t slots;
	const unsigned char *table, *text;
	size_t length; /* of text */
};

enum { HEAD = 32, FORMAT = 1 };

static uint64_t number(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | p[bytes];
	return v;
}

golaunch_board *golaunch_board_open(golaunch_job *job)
{
	golaunch_board *b = calloc(1, sizeof *b);
	golaunch_request *q = b ? golaunch__other("board", job, &(struct record){.kind = MAP}) : NULL;
	uint64_t epoch;
	char *path;
	int fd;

	if (!q) {
		if (!b)
			golaunch__fail("board: out of memory");
		free(b);
		return NULL;
	}
	while (!q->done)
		golaunch__progress(job);
	path = q->value;
	q->value = NULL;
	epoch = (uint64_t)q->tag;
	b->size = (size_t)q->size;
	if (golaunch__end(q, NULL)) {
		free(path);
		free(b);
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	b->bytes = fd < 0 ? MAP_FAILED : mmap(NULL, b->size, PROT_READ, MAP_SHARED, fd, 0);
	if (b->bytes == MAP_FAILED) {
		golaunch__fail("map the bulletin board: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		free(b);
		return NULL;
	}
	close(fd);
	if (b->size >= HEAD) {
		b->slots = (uint32_t)number(b->bytes + 12, 4);
		b->length = (size_t)number(b->bytes + 24, 8);
	}
	if (b->size < HEAD || memcmp(b->bytes, "golaunch", 8) || number(b->bytes + 8, 4) != FORMAT || number(b->bytes + 16, 8) != epoch ||
	    b->slots == 0 || HEAD + 8 * (size_t)b->slots + b->length != b->size) {
		golaunch__fail("the bulletin board's file is not as this library expects");
		golaunch_board_close(b);
		return NULL;
	}
	b->table = b->bytes + HEAD;
	b->text = b->table + 8 * (size_t)b->slots;
	return b;
}

/* field reads a length and as many bytes at *at, and moves *at beyond them. */
static const unsigned char *field(const golaunch_board *b, size_t *at, size_t *size)
{
	uint64_t n = 0;

	for (int shift = 0;; shift += 7) {
		if (*at >= b->length || shift > 56)
			return NULL;
		n |= (uint64_t)(b->text[*at] & 0x7f) << shift;
		if (b->text[(*at)++] < 0x80)
			break;
	}
	if (n > b->length - *at)
		return NULL;
	*size = (size_t)n;
	*at += (size_t)n;
	return b->text + *at - n;
}

const char *golaunch_board_get(const golaunch_board *b, const char *key, size_t *size)
{
	size_t length, found;
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
	uint32_t hash;

	if (!b || !key || !size) {
		golaunch__fail("golaunch_board_get: NULL is no %s", !b ? "board" : !key ? "key" : "room for the size");
		return NULL;
	}
	length = strlen(key);
	*size = 0;
	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)key[i]) * UINT64_C(1099511628211);
	hash = (uint32_t)(h ^ h >> 32);
	for (uint32_t i = hash % b->slots, seen = 0; seen < b->slots; seen++, i = (i + 1) % b->slots) {
		const unsigned char *slot = b->table + 8 * (size_t)i, *name;
		size_t at = (size_t)number(slot + 4, 4);

		if (at == 0)
			return NULL;
		if (number(slot, 4) != hash)
			continue;
		at--;
		name = field(b, &at, &found);
		if (name && found == length && memcmp(name, key, length) == 0)
			return (const char *)field(b, &at, size);
	}
	return NULL;
}

void golaunch_board_close(golaunch_board *b)
{
	if (b)
		munmap(b->bytes, b->size);
	free(b);
}
