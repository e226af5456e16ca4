/* Functions that the library calls, in its progress thread, when its clients want
 * something: each becomes a frame for the agent. Nothing here waits. */
#include <stdlib.h>
#include <string.h>

#include "infos.h"
#include "keys.h"
#include "pending.h"
#include "queue.h"
#include "server.h"
#include "upcalls.h"

/* ask_send sends a request, unless what has been packed for it failed. */
int ask_send(struct out *o, uint32_t request, enum kind answer, int status)
{
	if (status == PX_SUCCESS && queue_send(o))
		return PX_SUCCESS;
	if (status != PX_SUCCESS)
		free(o->bytes);
	else
		status = PX_ERR_OUT_OF_RESOURCE;
	free(pending_take(request, answer));
	return status;
}

uint32_t ask_begin(struct out *o, enum kind kind, enum kind answer, any_fn callback, void *with)
{
	uint32_t request = pending_add(answer, callback, with);

	out_begin(o, kind, request);
	return request;
}

uint32_t ask_timeout(const struct px_info *infos, size_t n)
{
	int64_t seconds = info_number(infos, n, KEY_TIMEOUT, 0);

	return seconds < 0 ? 0 : (uint32_t)seconds;
}

/* later is an answer that the library hears when what was sent before has been written. */
struct later {
	px_op_fn *done;
	void *with;
	int status;
};

static void tell(void *with)
{
	struct later *l = with;

	l->done(l->status, l->with);
	free(l);
}

static void tell_later(int status, px_op_fn *done, void *with)
{
	struct later *l = take(1, sizeof *l);

	*l = (struct later){ done, with, status };
	queue_later(tell, l);
}

void out_texts(struct out *o, char **texts)
{
	uint32_t n = 0;

	while (texts && texts[n])
		n++;
	out_u32(o, n);
	for (uint32_t i = 0; i < n; i++)
		out_text(o, texts[i]);
}

static void client(const struct px_proc *proc, bool finalized)
{
	struct out o;

	out_begin(&o, KIND_CLIENT, 0);
	out_proc(&o, proc);
	out_u8(&o, finalized);
	queue_send(&o);
}

static int connected(const struct px_proc *proc, void *object, px_op_fn *done, void *with)
{
	(void)object, (void)done, (void)with;
	client(proc, false);
	return PX_OPERATION_SUCCEEDED;
}

static int connected2(const struct px_proc *proc, void *object, struct px_info *infos, size_t n, px_op_fn *done,
		      void *with)
{
	(void)infos, (void)n;
	return connected(proc, object, done, with);
}

/* finalized lets a client go when the agent has been told: its end means something else
 * without that. */
static int finalized(const struct px_proc *proc, void *object, px_op_fn *done, void *with)
{
	(void)object;
	client(proc, true);
	tell_later(PX_SUCCESS, done, with);
	return PX_SUCCESS;
}

static int aborted(const struct px_proc *proc, void *object, int code, const char *text, struct px_proc *procs, size_t n,
		   px_op_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_ABORT, KIND_DONE, (any_fn)done, with);

	(void)object;
	out_proc(&o, proc);
	out_u32(&o, (uint32_t)code);
	out_text(&o, text);
	out_procs(&o, procs, procs ? n : 0);
	return ask_send(&o, request, KIND_DONE, PX_SUCCESS);
}

static int fence(const struct px_proc *procs, size_t n, const struct px_info *infos, size_t ninfos, char *data,
		 size_t length, px_modex_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_FENCE, KIND_DATA, (any_fn)done, with);
	int status;

	out_procs(&o, procs, n);
	out_u32(&o, ask_timeout(infos, ninfos));
	out_data(&o, data, data ? length : 0);
	status = ask_send(&o, request, KIND_DATA, PX_SUCCESS);
	if (status == PX_SUCCESS)
		free(data);
	return status;
}

static int direct_modex(const struct px_proc *proc, const struct px_info *infos, size_t n, px_modex_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_MODEX, KIND_DATA, (any_fn)done, with);

	out_proc(&o, proc);
	out_u32(&o, ask_timeout(infos, n));
	return ask_send(&o, request, KIND_DATA, PX_SUCCESS);
}

/* out_pairs writes the infos whose values can be said in words. */
static void out_pairs(struct out *o, const struct px_info *infos, size_t n)
{
	char **texts = take(n, sizeof *texts);
	uint32_t said = 0;

	for (size_t i = 0; i < n; i++) {
		texts[i] = value_text(&infos[i].value);
		said += texts[i] != NULL;
	}
	out_u32(o, said);
	for (size_t i = 0; i < n; i++) {
		if (!texts[i])
			continue;
		out_data(o, infos[i].key, strnlen(infos[i].key, PX_KEY));
		out_text(o, texts[i]);
		free(texts[i]);
	}
	free(texts);
}

static int spawn(const struct px_proc *proc, const struct px_info *infos, size_t ninfos, const struct px_app *apps,
		 size_t n, px_spawn_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_SPAWN, KIND_SPAWNED, (any_fn)done, with);

	out_proc(&o, proc);
	out_pairs(&o, infos, ninfos);
	out_u32(&o, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		const struct px_app *a = &apps[i];

		out_text(&o, a->cmd);
		out_texts(&o, a->argv);
		out_texts(&o, a->env);
		out_text(&o, a->cwd);
		out_u32(&o, a->maxprocs < 0 ? 0 : (uint32_t)a->maxprocs);
		out_pairs(&o, a->info, a->ninfo);
	}
	return ask_send(&o, request, KIND_SPAWNED, PX_SUCCESS);
}

static int meet(enum kind kind, const struct px_proc *procs, size_t n, const struct px_info *infos, size_t ninfos,
		px_op_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, kind, KIND_DONE, (any_fn)done, with);

	out_procs(&o, procs, n);
	out_u32(&o, ask_timeout(infos, ninfos));
	return ask_send(&o, request, KIND_DONE, PX_SUCCESS);
}

static int connect(const struct px_proc *procs, size_t n, const struct px_info *infos, size_t ninfos, px_op_fn *done,
		   void *with)
{
	return meet(KIND_CONNECT, procs, n, infos, ninfos, done, with);
}

static int disconnect(const struct px_proc *procs, size_t n, const struct px_info *infos, size_t ninfos, px_op_fn *done,
		      void *with)
{
	return meet(KIND_DISCONNECT, procs, n, infos, ninfos, done, with);
}

static int group(int op, char *id, const struct px_proc *procs, size_t n, const struct px_info *infos, size_t ninfos,
		 px_info_fn *done, void *with)
{
	const struct px_info *data = info_find(infos, ninfos, KEY_GROUP_ENDPT_DATA);
	bool given = data && data->value.type == PX_BYTE_OBJECT;
	struct out o;
	uint32_t request;

	/* Whoever answers this later is asked a second time by PMIx 5.0.7, with what it has
	 * freed by then. No other node takes part. */
	if (op == PX_GROUP_DESTRUCT && info_true(infos, ninfos, KEY_GROUP_LOCAL_ONLY))
		return PX_OPERATION_SUCCEEDED;
	request = ask_begin(&o, KIND_GROUP, KIND_GROUPED, (any_fn)done, with);
	out_u8(&o, (uint8_t)op);
	out_text(&o, id);
	out_procs(&o, procs, n);
	out_u8(&o, info_true(infos, ninfos, KEY_GROUP_ASSIGN_CONTEXT_ID));
	out_u32(&o, ask_timeout(infos, ninfos));
	out_data(&o, given ? data->value.data.bo.bytes : NULL, given ? data->value.data.bo.size : 0);
	return ask_send(&o, request, KIND_GROUPED, PX_SUCCESS);
}

/* events: all that the agent knows comes without being asked for. */
static int register_events(int *codes, size_t n, const struct px_info *infos, size_t ninfos, px_op_fn *done, void *with)
{
	(void)codes, (void)n, (void)infos, (void)ninfos, (void)done, (void)with;
	return PX_OPERATION_SUCCEEDED;
}

static int deregister_events(int *codes, size_t n, px_op_fn *done, void *with)
{
	return register_events(codes, n, NULL, 0, done, with);
}

static void out_affected(struct out *o, const struct px_info *infos, size_t n)
{
	const struct px_info *one = info_find(infos, n, KEY_EVENT_AFFECTED_PROC);
	const struct px_info *some = info_find(infos, n, KEY_EVENT_AFFECTED_PROCS);

	if (some && some->value.type == PX_DATA_ARRAY && some->value.data.array &&
	    some->value.data.array->type == PX_PROC)
		out_procs(o, some->value.data.array->array, some->value.data.array->size);
	else if (one && one->value.type == PX_PROC && one->value.data.proc)
		out_procs(o, one->value.data.proc, 1);
	else
		out_u32(o, 0);
}

static void ignore(int status, void *with)
{
	(void)status, (void)with;
}

/* notify answers at once: PMIx 4.2 has forgotten by itself what it would be told later. */
static int notify(int code, const struct px_proc *source, uint8_t range, struct px_info *infos, size_t n,
		  px_op_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_EVENT, KIND_DONE, (any_fn)ignore, NULL);
	int status;

	(void)done, (void)with;
	out_u32(&o, (uint32_t)code);
	out_proc(&o, source);
	out_u8(&o, range);
	out_affected(&o, infos, n);
	status = ask_send(&o, request, KIND_DONE, out_packed_infos(&o, infos, n));
	return status == PX_SUCCESS ? PX_OPERATION_SUCCEEDED : status;
}

/* written finds what a process wants to be shown: the texts of an info's kind. */
static size_t written(struct out *o, const struct px_info *infos, size_t n, const char *key)
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		const struct px_value *v = &infos[i].value;

		if (!info_is(&infos[i], key))
			continue;
		if (v->type == PX_STRING && v->data.string) {
			length += strlen(v->data.string);
			if (o)
				out_bytes(o, v->data.string, strlen(v->data.string));
		} else if (v->type == PX_BYTE_OBJECT && v->data.bo.bytes) {
			length += v->data.bo.size;
			if (o)
				out_bytes(o, v->data.bo.bytes, v->data.bo.size);
		}
	}
	return length;
}

/* logged never answers within the call: the library would wait for itself. */
static void logged(const struct px_proc *proc, const struct px_info *infos, size_t n, const struct px_info *directives,
		   size_t ndirectives, px_op_fn *done, void *with)
{
	const char *key = info_find(infos, n, KEY_LOG_STDERR) ? KEY_LOG_STDERR : KEY_LOG_STDOUT;
	size_t length = written(NULL, infos, n, key);
	uint32_t request;
	struct out o;
	int status;

	(void)directives, (void)ndirectives;
	if (!info_find(infos, n, key) || length > FRAME_MOST / 2) {
		tell_later(PX_ERR_NOT_SUPPORTED, done, with);
		return;
	}
	request = ask_begin(&o, KIND_LOG, KIND_DONE, (any_fn)done, with);
	out_proc(&o, proc);
	out_u8(&o, strcmp(key, KEY_LOG_STDERR) == 0);
	out_u32(&o, (uint32_t)length);
	written(&o, infos, n, key);
	status = ask_send(&o, request, KIND_DONE, PX_SUCCESS);
	if (status != PX_SUCCESS)
		tell_later(status, done, with);
}

/* job_control is there for the library to take PMIX_REGISTER_CLEANUP, which it sees to
 * itself. */
static int job_control(const struct px_proc *proc, const struct px_proc *targets, size_t n, const struct px_info *infos,
		       size_t ninfos, px_info_fn *done, void *with)
{
	(void)proc, (void)targets, (void)n, (void)infos, (void)ninfos, (void)done, (void)with;
	return PX_ERR_NOT_SUPPORTED;
}

void **upcalls_module(void)
{
	static void *module[PX_PLACES];

	module[PX_CLIENT_CONNECTED] = (void *)connected;
	module[PX_CLIENT_FINALIZED] = (void *)finalized;
	module[PX_ABORT] = (void *)aborted;
	module[PX_FENCE] = (void *)fence;
	module[PX_DIRECT_MODEX] = (void *)direct_modex;
	module[PX_PUBLISH] = (void *)publish;
	module[PX_LOOKUP] = (void *)lookup;
	module[PX_UNPUBLISH] = (void *)unpublish;
	module[PX_SPAWN] = (void *)spawn;
	module[PX_CONNECT] = (void *)connect;
	module[PX_DISCONNECT] = (void *)disconnect;
	module[PX_REGISTER_EVENTS] = (void *)register_events;
	module[PX_DEREGISTER_EVENTS] = (void *)deregister_events;
	module[PX_NOTIFY_EVENT] = (void *)notify;
	module[PX_QUERY] = (void *)query;
	module[PX_LOG] = (void *)logged;
	module[PX_JOB_CONTROL] = (void *)job_control;
	module[PX_GROUP] = (void *)group;
	module[PX_CLIENT_CONNECTED2] = (void *)connected2;
	return module;
}
