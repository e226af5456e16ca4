/* Attributes with values. */
#define _GNU_SOURCE
#include "infos.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

struct chunk {
	struct chunk *next;
	_Alignas(16) unsigned char memory[];
};

void *arena_take(struct arena *a, size_t items, size_t bytes)
{
	struct chunk *c;

	if (bytes && items > (SIZE_MAX - sizeof *c) / bytes)
		die("no memory for %zu items of %zu bytes", items, bytes);
	c = take(1, sizeof *c + items * bytes);
	c->next = a->chunks;
	a->chunks = c;
	return c->memory;
}

char *arena_text(struct arena *a, const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	text = arena_take(a, (size_t)n + 1, 1);
	va_start(args, format);
	vsnprintf(text, (size_t)n + 1, format, args);
	va_end(args);
	return text;
}

void arena_free(struct arena *a)
{
	while (a->chunks) {
		struct chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
}

static struct px_value *add(struct infos *i, const char *key, uint16_t type)
{
	struct px_info *info;

	if (i->n == i->room) {
		struct px_info *more;

		i->room = i->room ? 2 * i->room : 16;
		more = arena_take(i->arena, i->room, sizeof *more);
		if (i->n > 0)
			memcpy(more, i->list, i->n * sizeof *more);
		i->list = more;
	}
	info = &i->list[i->n++];
	memcpy(info->key, key, strlen(key) + 1);
	info->value.type = type;
	return &info->value;
}

void add_text(struct infos *i, const char *key, char *text)
{
	add(i, key, PX_STRING)->data.string = text;
}

void add_bool(struct infos *i, const char *key, bool v)
{
	add(i, key, PX_BOOL)->data.flag = v;
}

void add_u32(struct infos *i, const char *key, uint32_t v)
{
	add(i, key, PX_UINT32)->data.uint32 = v;
}

void add_u16(struct infos *i, const char *key, uint16_t v)
{
	add(i, key, PX_UINT16)->data.uint16 = v;
}

void add_size(struct infos *i, const char *key, size_t v)
{
	add(i, key, PX_SIZE)->data.size = v;
}

void add_rank(struct infos *i, const char *key, uint32_t v)
{
	add(i, key, PX_PROC_RANK)->data.uint32 = v;
}

void add_proc(struct infos *i, const char *key, struct px_proc *proc)
{
	add(i, key, PX_PROC)->data.proc = proc;
}

void add_regex(struct infos *i, const char *key, char *regex)
{
	/* The library finds its end by itself. */
	add(i, key, PX_REGEX)->data.bo = (struct px_bytes){ regex, strlen(regex) + 1 };
}

void add_bytes(struct infos *i, const char *key, char *bytes, size_t n)
{
	add(i, key, PX_BYTE_OBJECT)->data.bo = (struct px_bytes){ bytes, n };
}

void add_array(struct infos *i, const char *key, uint16_t type, void *items, size_t n)
{
	struct px_array *array = arena_take(i->arena, 1, sizeof *array);

	*array = (struct px_array){ type, n, items };
	add(i, key, PX_DATA_ARRAY)->data.array = array;
}

bool info_is(const struct px_info *info, const char *key)
{
	return strncmp(info->key, key, sizeof info->key) == 0;
}

const struct px_info *info_find(const struct px_info *infos, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (info_is(&infos[i], key))
			return &infos[i];
	}
	return NULL;
}

bool info_true(const struct px_info *infos, size_t n, const char *key)
{
	const struct px_info *info = info_find(infos, n, key);

	return info && (info->value.type != PX_BOOL || info->value.data.flag);
}

static bool number(const struct px_value *v, int64_t *n)
{
	switch (v->type) {
	case PX_INT: case PX_INT32: case PX_PID: case PX_STATUS: *n = v->data.int32; return true;
	case PX_INT8: *n = v->data.int8; return true;
	case PX_INT16: *n = v->data.int16; return true;
	case PX_INT64: *n = v->data.int64; return true;
	case PX_UINT: case PX_UINT32: case PX_PROC_RANK: *n = v->data.uint32; return true;
	case PX_BYTE: case PX_UINT8: case PX_PERSIST: case PX_DATA_RANGE: *n = v->data.uint8; return true;
	case PX_UINT16: *n = v->data.uint16; return true;
	case PX_SIZE: case PX_UINT64: *n = (int64_t)v->data.uint64; return true;
	}
	return false;
}

int64_t info_number(const struct px_info *infos, size_t n, const char *key, int64_t otherwise)
{
	const struct px_info *info = info_find(infos, n, key);
	int64_t found;

	return info && number(&info->value, &found) ? found : otherwise;
}

char *value_text(const struct px_value *v)
{
	char *text = NULL;
	int64_t n;
	int rc = -1;

	if (v->type == PX_STRING)
		return v->data.string ? strdup(v->data.string) : NULL;
	if (v->type == PX_BOOL)
		return strdup(v->data.flag ? "true" : "false");
	if (v->type == PX_PROC && v->data.proc)
		rc = asprintf(&text, "%s:%" PRIu32, v->data.proc->nspace, v->data.proc->rank);
	else if (v->type == PX_ENVAR && v->data.envar.name)
		rc = asprintf(&text, "%s=%s", v->data.envar.name, v->data.envar.value ? v->data.envar.value : "");
	else if (number(v, &n))
		rc = asprintf(&text, "%" PRId64, n);
	return rc < 0 ? NULL : text;
}

void out_proc(struct out *o, const struct px_proc *proc)
{
	out_data(o, proc->nspace, strnlen(proc->nspace, PX_NAMESPACE));
	out_u32(o, proc->rank);
}

static int by_name(const void *a, const void *b)
{
	const struct px_proc *p = a, *q = b;
	int order = strncmp(p->nspace, q->nspace, PX_NAMESPACE);

	return order ? order : (p->rank > q->rank) - (p->rank < q->rank);
}

void out_procs(struct out *o, const struct px_proc *procs, size_t n)
{
	struct px_proc *sorted = take(n, sizeof *sorted);
	size_t kept = 0;

	if (n > 0)
		memcpy(sorted, procs, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_name);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || by_name(&sorted[kept - 1], &sorted[i]) != 0)
			sorted[kept++] = sorted[i];
	}
	out_u32(o, (uint32_t)kept);
	for (size_t i = 0; i < kept; i++)
		out_proc(o, &sorted[i]);
	free(sorted);
}

void read_proc(struct reader *r, struct px_proc *proc)
{
	memset(proc, 0, sizeof *proc);
	strncpy(proc->nspace, read_text(r), PX_NAMESPACE);
	proc->rank = read_u32(r);
}

/* pack appends a value to a buffer, unless an earlier status is bad. */
static int pack(struct px_buffer *b, int status, void *value, uint16_t type)
{
	return status == PX_SUCCESS ? px.Data_pack(NULL, b, value, 1, type) : status;
}

static int out_buffer(struct out *o, struct px_buffer *b, int status)
{
	out_data(o, b->base, status == PX_SUCCESS ? b->used : 0);
	free(b->base);
	return status;
}

int out_packed(struct out *o, struct px_value *value)
{
	struct px_buffer b = { 0 };

	return out_buffer(o, &b, pack(&b, PX_SUCCESS, value, PX_VALUE));
}

int out_packed_infos(struct out *o, struct px_info *infos, size_t n)
{
	struct px_buffer b = { 0 };
	int status = PX_SUCCESS;

	if (n > 0)
		status = pack(&b, status, &n, PX_SIZE);
	for (size_t i = 0; i < n; i++) /* each for itself, as it is taken */
		status = pack(&b, status, &infos[i], PX_INFO);
	return out_buffer(o, &b, status);
}

/* buffer makes a buffer that has a copy of data. */
static struct px_buffer buffer(const unsigned char *data, uint32_t length)
{
	char *copy = take_text((const char *)data, length);

	return (struct px_buffer){ copy, copy + length, copy, length, length };
}

int unpack(const unsigned char *data, uint32_t length, struct px_value *value)
{
	struct px_buffer b = buffer(data, length);
	int32_t n = 1;
	int status = px.Data_unpack(NULL, &b, value, &n, PX_VALUE);

	free(b.base);
	return status;
}

int unpack_infos(const unsigned char *data, uint32_t length, struct infos *infos)
{
	struct px_buffer b = buffer(data, length);
	int32_t n = 1;
	size_t count = 0;
	int status = px.Data_unpack(NULL, &b, &count, &n, PX_SIZE);

	if (status == PX_SUCCESS && count > length) /* one has a byte or more */
		status = PX_ERR_BAD_PARAM;
	for (size_t i = 0; i < count && status == PX_SUCCESS; i++) {
		struct px_info info = { 0 };

		n = 1;
		status = px.Data_unpack(NULL, &b, &info, &n, PX_INFO);
		if (status == PX_SUCCESS) {
			*add(infos, info.key, info.value.type) = info.value;
			infos->list[infos->n - 1].flags = info.flags;
		}
	}
	free(b.base);
	return status;
}
