/*
 * framedriver: hands frames to all of golaunch-pmix that reads them, with a library that
 * does nothing but look at what it is given. It is built under sanitizers.
 *
 * Reads frames from standard input, each behind its length in four bytes, little-endian.
 * Prints a line for each: "ok", or "bad: WHY".
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infos.h"
#include "pending.h"
#include "queue.h"
#include "server.h"

struct server server = { .host = "here", .dir = "/nowhere" };

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	abort();
}

static size_t seen; /* what has been looked at, so that no compiler leaves it out */

static void look(const void *memory, size_t n)
{
	const unsigned char *b = memory;

	for (size_t i = 0; i < n; i++)
		seen += b[i];
}

static void look_infos(const struct px_info *infos, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct px_value *v = &infos[i].value;

		seen += strlen(infos[i].key);
		if (v->type == PX_STRING)
			seen += strlen(v->data.string);
		else if (v->type == PX_PROC)
			look(v->data.proc, sizeof *v->data.proc);
		else if (v->type == PX_BYTE_OBJECT || v->type == PX_REGEX)
			look(v->data.bo.bytes, v->data.bo.size);
		else if (v->type == PX_DATA_ARRAY && v->data.array->type == PX_PROC)
			look(v->data.array->array, v->data.array->size * sizeof(struct px_proc));
		else if (v->type == PX_DATA_ARRAY)
			look_infos(v->data.array->array, v->data.array->size);
	}
}

/* The library. */
static const char *error_string(int status) { return status ? "bad" : "good"; }

static int copy(const char *text, char **made)
{
	*made = strdup(text);
	return PX_SUCCESS;
}

static int register_nspace(const char *nspace, int n, struct px_info *infos, size_t count, px_op_fn *f, void *with)
{
	(void)f, (void)with;
	seen += strlen(nspace) + (size_t)n;
	look_infos(infos, count);
	return PX_SUCCESS;
}

static int register_client(const struct px_proc *p, uid_t u, gid_t g, void *o, px_op_fn *f, void *with)
{
	(void)u, (void)g, (void)o, (void)f, (void)with;
	look(p, sizeof *p);
	return PX_SUCCESS;
}

static void deregister_nspace(const char *nspace, px_op_fn *f, void *with)
{
	seen += strlen(nspace);
	f(0, with);
}

static void deregister_client(const struct px_proc *p, px_op_fn *f, void *with)
{
	look(p, sizeof *p);
	f(0, with);
}

static int setup_fork(const struct px_proc *p, char ***env)
{
	look(p, sizeof *p);
	*env = calloc(2, sizeof **env);
	(*env)[0] = strdup("PMIX_RANK=0");
	return PX_SUCCESS;
}

static int dmodex(const struct px_proc *p, px_dmodex_fn *f, void *with)
{
	char blob[] = "blob";

	look(p, sizeof *p);
	f(0, blob, sizeof blob, with);
	return PX_SUCCESS;
}

static int notify_event(int status, const struct px_proc *p, uint8_t range, const struct px_info *infos, size_t n,
			px_op_fn *f, void *with)
{
	(void)status, (void)range;
	look(p, sizeof *p);
	look_infos(infos, n);
	f(0, with);
	return PX_SUCCESS;
}

/* unpack_some makes something of the first byte, and fails where there is none. */
static int unpack_some(const struct px_proc *p, struct px_buffer *b, void *value, int32_t *n, uint16_t type)
{
	size_t first;

	(void)p, (void)n;
	if (b->unpack == b->pack)
		return PX_ERROR;
	first = (unsigned char)*b->unpack++;
	if (type == PX_SIZE)
		*(size_t *)value = first;
	else if (type == PX_VALUE)
		*(struct px_value *)value = (struct px_value){ .type = PX_STRING, .data.string = strdup("value") };
	else
		*(struct px_info *)value = (struct px_info){ .key = "key", .value = { .type = PX_STRING, .data.string = strdup("v") } };
	return PX_SUCCESS;
}

/* Callbacks of the library. */
static void op(int status, void *with) { (void)status, (void)with; }

static void modex(int status, const char *data, size_t n, void *with, px_release_fn *release, void *of)
{
	(void)status, (void)with;
	look(data, n);
	release(of);
}

static void found(int status, struct px_pdata *data, size_t n, void *with)
{
	(void)status, (void)with;
	for (size_t i = 0; i < n; i++)
		seen += strlen(data[i].key) + strlen(data[i].proc.nspace) + data[i].value.type;
}

static void spawned(int status, char *nspace, void *with)
{
	(void)status, (void)with;
	seen += strlen(nspace);
}

static void grouped(int status, struct px_info *infos, size_t n, void *with, px_release_fn *release, void *of)
{
	(void)status, (void)with;
	look_infos(infos, n);
	release(of);
}

static void (*callback(uint8_t kind))(void)
{
	switch (kind) {
	case KIND_DATA: return (void (*)(void))modex;
	case KIND_FOUND: return (void (*)(void))found;
	case KIND_SPAWNED: return (void (*)(void))spawned;
	case KIND_GROUPED: return (void (*)(void))grouped;
	}
	return (void (*)(void))op;
}

/* hand is what the helper does with a frame that it has read. */
static const char *hand(const unsigned char *bytes, uint32_t n)
{
	struct frame f;
	const char *wrong;

	if (n < FRAME_HEAD)
		return "it is too short";
	wrong = frame_head(&f, bytes);
	if (wrong)
		return wrong;
	if (f.length != n - FRAME_HEAD)
		return "its length is another";
	f.body = malloc(f.length + 1);
	memcpy(f.body, bytes + FRAME_HEAD, f.length);
	wrong = frame_check(&f);
	if (wrong || f.kind == KIND_INIT || f.kind == KIND_END) {
		free(f.body);
		return wrong;
	}
	if (f.kind >= KIND_DONE && f.kind <= KIND_GROUPED)
		f.request = pending_add((enum kind)f.kind, callback(f.kind), NULL);
	return answer(&f);
}

int main(void)
{
	unsigned char length[4];

	px.Error_string = error_string;
	px.generate_regex = px.generate_ppn = copy;
	px.server_register_nspace = register_nspace;
	px.server_register_client = register_client;
	px.server_deregister_nspace = deregister_nspace;
	px.server_deregister_client = deregister_client;
	px.server_setup_fork = setup_fork;
	px.server_dmodex_request = dmodex;
	px.Notify_event = notify_event;
	px.Data_unpack = unpack_some;
	queue_start(open("/dev/null", O_WRONLY));
	while (fread(length, sizeof length, 1, stdin) == 1) {
		uint32_t n = length[0] | length[1] << 8 | length[2] << 16 | (uint32_t)length[3] << 24;
		unsigned char *frame = malloc(n + 1);
		const char *wrong;

		if (fread(frame, 1, n, stdin) != n)
			return 2;
		wrong = hand(frame, n);
		printf("%s%s\n", wrong ? "bad: " : "ok", wrong ? wrong : "");
		fflush(stdout);
		free(frame);
	}
	return seen == 1;
}
