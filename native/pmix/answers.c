/* The agent's messages: answers to the library's requests, and requests of its own. */
#include <stdlib.h>
#include <string.h>

#include "infos.h"
#include "keys.h"
#include "pending.h"
#include "queue.h"
#include "server.h"

static void done(const struct pending *p, struct reader *r)
{
	int status = (int)read_u32(r);

	((px_op_fn *)p->callback)(status, p->with);
}

/* data hands the body itself to the library, which gives it back when it has read it. */
static void data(const struct pending *p, struct reader *r, struct frame *f)
{
	int status = (int)read_u32(r);
	uint32_t length;
	const char *blob = (const char *)read_data(r, &length);

	((px_modex_fn *)p->callback)(status, length ? blob : NULL, length, p->with, free, f->body);
	f->body = NULL;
}

static void found(const struct pending *p, struct reader *r)
{
	int status = (int)read_u32(r);
	uint32_t n = read_u32(r), good = 0;
	struct px_pdata *values = take(n, sizeof *values);

	for (uint32_t i = 0; i < n; i++) {
		struct px_pdata *v = &values[good];
		uint32_t length;
		unsigned char *packed;
		int rc;

		read_proc(r, &v->proc);
		memset(v->key, 0, sizeof v->key);
		strncpy(v->key, read_text(r), PX_KEY);
		packed = read_data(r, &length);
		rc = unpack(packed, length, &v->value);
		if (rc == PX_SUCCESS)
			good++;
		else
			status = rc;
	}
	((px_lookup_fn *)p->callback)(status, values, good, p->with);
	for (uint32_t i = 0; i < good; i++)
		px_free_value(&values[i].value);
	free(values);
}

static void spawned(const struct pending *p, struct reader *r)
{
	int status = (int)read_u32(r);

	((px_spawn_fn *)p->callback)(status, read_text(r), p->with);
}

/* The data of a group's answer, until the library has read it. */
struct grouped {
	struct arena arena;
	struct infos infos;
	size_t data; /* number of the info whose bytes the library may take for its own */
};

static void ungroup(void *with)
{
	struct grouped *g = with;

	if (g->data < g->infos.n)
		free(g->infos.list[g->data].value.data.bo.bytes);
	arena_free(&g->arena);
	free(g);
}

static void grouped(const struct pending *p, struct reader *r)
{
	struct grouped *g = take(1, sizeof *g);
	int status = (int)read_u32(r);
	uint64_t context = read_u64(r);
	struct out blobs = { 0 };
	struct px_proc *members;
	uint32_t n = read_u32(r);

	g->infos.arena = &g->arena;
	g->data = SIZE_MAX;
	members = arena_take(&g->arena, n, sizeof *members);
	for (uint32_t i = 0; i < n; i++)
		read_proc(r, &members[i]);
	add_array(&g->infos, KEY_GROUP_MEMBERSHIP, PX_PROC, members, n);
	if (context != 0)
		add_size(&g->infos, KEY_GROUP_CONTEXT_ID, context);
	n = read_u32(r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t length;
		const unsigned char *blob = read_data(r, &length);

		out_bytes(&blobs, blob, length);
	}
	if (blobs.n > 0) {
		g->data = g->infos.n;
		add_bytes(&g->infos, KEY_GROUP_ENDPT_DATA, (char *)blobs.bytes, blobs.n);
	}
	((px_info_fn *)p->callback)(status, g->infos.list, g->infos.n, p->with, ungroup, g);
}

static void told(int status, char *blob, size_t n, void *with)
{
	uint32_t request = (uint32_t)(uintptr_t)with;
	struct out o;

	out_begin(&o, KIND_TOLD, request);
	out_u32(&o, (uint32_t)status);
	out_data(&o, blob, status == PX_SUCCESS && blob ? n : 0);
	if (!queue_send(&o))
		told(PX_ERR_OUT_OF_RESOURCE, NULL, 0, with);
}

static void ask(struct reader *r, uint32_t request)
{
	void *with = (void *)(uintptr_t)request;
	struct px_proc proc;
	int status;

	read_proc(r, &proc);
	status = px.server_dmodex_request(&proc, told, with);
	if (status != PX_SUCCESS)
		told(status, NULL, 0, with);
}

/* The data of a notification, until the library has passed it on. */
struct notified {
	struct arena arena;
	struct infos infos;
	size_t unpacked; /* infos whose values the library made */
};

static void forget_notified(int status, void *with)
{
	struct notified *n = with;

	(void)status;
	for (size_t i = 0; i < n->unpacked; i++)
		px_free_value(&n->infos.list[i].value);
	arena_free(&n->arena);
	free(n);
}

static void notify(struct reader *r)
{
	struct notified *n = take(1, sizeof *n);
	int code = (int)read_u32(r);
	struct px_proc source, *affected;
	uint32_t count, length;
	uint8_t range;
	unsigned char *packed;
	int status;

	n->infos.arena = &n->arena;
	read_proc(r, &source);
	range = read_u8(r);
	count = read_u32(r);
	affected = arena_take(&n->arena, count, sizeof *affected);
	for (uint32_t i = 0; i < count; i++)
		read_proc(r, &affected[i]);
	packed = read_data(r, &length);
	if (length > 0)
		unpack_infos(packed, length, &n->infos);
	n->unpacked = n->infos.n;
	if (count == 1 && !info_find(n->infos.list, n->infos.n, KEY_EVENT_AFFECTED_PROC))
		add_proc(&n->infos, KEY_EVENT_AFFECTED_PROC, affected);
	if (count > 1 && !info_find(n->infos.list, n->infos.n, KEY_EVENT_AFFECTED_PROCS))
		add_array(&n->infos, KEY_EVENT_AFFECTED_PROCS, PX_PROC, affected, count);
	status = px.Notify_event(code, &source, range, n->infos.list, n->infos.n, forget_notified, n);
	if (status != PX_SUCCESS)
		forget_notified(status, n);
}

static void ignore(int status, void *with)
{
	(void)status, (void)with;
}

static void gone(struct reader *r)
{
	struct px_proc proc;

	read_proc(r, &proc);
	/* PMIx 4 closes a connection that it has not seen end, but goes on to listen to its
	 * number, and hears nothing of the next one that has it. */
	owner_gone();
	px.server_deregister_client(&proc, ignore, NULL);
}

static void forget(struct reader *r)
{
	const char *nspace = read_text(r);

	known_drop(nspace);
	px.server_deregister_nspace(nspace, ignore, NULL);
}

static void ping(uint32_t request)
{
	struct out o;

	out_begin(&o, KIND_PONG, request);
	queue_send(&o);
}

/* request carries out a frame that answers nothing. */
static bool request(struct reader *r, const struct frame *f)
{
	switch (f->kind) {
	case KIND_WORLD: register_world(f); return true;
	case KIND_FORGET: forget(r); return true;
	case KIND_GONE: gone(r); return true;
	case KIND_ASK: ask(r, f->request); return true;
	case KIND_NOTIFY: notify(r); return true;
	case KIND_PING: ping(f->request); return true;
	}
	return false;
}

const char *answer(struct frame *f)
{
	struct reader r = { f->body };
	struct pending *p;

	if (request(&r, f)) {
		free(f->body);
		return NULL;
	}
	p = pending_take(f->request, (enum kind)f->kind);
	if (!p)
		return "it answers nothing that was asked";
	switch (f->kind) {
	case KIND_DONE: done(p, &r); break;
	case KIND_DATA: data(p, &r, f); break;
	case KIND_FOUND: found(p, &r); break;
	case KIND_SPAWNED: spawned(p, &r); break;
	case KIND_GROUPED: grouped(p, &r); break;
	}
	free(p);
	free(f->body);
	return NULL;
}
