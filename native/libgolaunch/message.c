/* Messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void ask(const golaunch_request *q)
{
	golaunch__put(&q->job->out, &(struct record){.kind = RECV, .fn = q->sort, .comm = q->comm->id, .seq = q->seq, .src = q->src,
		.off = q->tag, .size = q->size});
}

/* next_messages sends what the agent has room for. */
void golaunch__next_messages(golaunch_job *job)
{
	golaunch_request *q;

	while ((q = job->send_queue.first) && job->sends.count < job->most && job->fresh < MAX_REQUESTS) {
		golaunch__remove(&job->send_queue, q);
		golaunch__append(&job->sends, q);
		job->fresh++;
		golaunch__put(&job->out, &(struct record){.kind = SEND, .comm = q->comm->id, .seq = q->seq, .src = q->comm->rank,
			.dst = q->root, .count = 1, .off = q->tag, .size = q->size, .body = q->send, .length = q->size <= CHUNK ? (size_t)q->size : 0});
	}
	while ((q = job->recv_queue.first) && job->recvs.count < job->most) {
		golaunch__remove(&job->recv_queue, q);
		golaunch__append(&job->recvs, q);
		ask(q);
	}
}

static const char *name(enum class class, enum sort sort)
{
	return class == SENDING ? "send" : sort == TAKE ? "recv" : "probe";
}

/* unlist takes a message from those under way. */
void golaunch__unlist(struct list *l, golaunch_request *q)
{
	golaunch__remove(l, q);
	if (l == &q->job->sends && !q->kept)
		q->job->fresh--;
}

/* message describes a message to, or from, a peer; buffer has room for size bytes. */
static golaunch_request *message(golaunch_comm *c, enum class class, enum sort sort, int peer, int64_t tag, const void *buffer, size_t size)
{
	const char *call = name(class, sort);
	int least = class == RECEIVING ? GOLAUNCH_ANY : 0;
	golaunch_request *q;

	if (golaunch__gone(call, c))
		return NULL;
	if (size > 0 && !buffer) {
		golaunch__fail("%s: %zu bytes without a buffer", call, size);
		return NULL;
	}
	if (peer >= c->size || peer < least) {
		golaunch__fail("%s: member %d of a communicator of %d", call, peer, c->size);
		return NULL;
	}
	if (tag < least) {
		golaunch__fail("%s: tag %lld, which is not in 0 to %lld", call, (long long)tag, (long long)MAX_TAG);
		return NULL;
	}
	if (size > (size_t)MAX_BYTES) {
		golaunch__fail("%s: a message of %zu bytes", call, size);
		return NULL;
	}
	q = golaunch__new(call, c->job, class);
	if (!q)
		return NULL;
	q->comm = c;
	q->seq = ++c->job->number << 32 | q->slot;
	q->tag = q->wanted = tag;
	q->root = q->src = peer;
	q->size = (int64_t)size;
	q->sort = sort;
	return q;
}

/* post begins a message that is described. */
golaunch_request *golaunch__post(golaunch_request *q)
{
	golaunch_job *job = q->job;

	golaunch__append(q->class == SENDING ? &job->send_queue : &job->recv_queue, q);
	golaunch__next_messages(job);
	golaunch__flush(job);
	return q;
}

golaunch_request *golaunch__send(golaunch_comm *c, int dst, int64_t tag, const void *data, size_t size)
{
	golaunch_request *q = message(c, SENDING, TAKE, dst, tag, data, size);

	if (q)
		q->send = data;
	return q;
}

golaunch_request *golaunch__recv(golaunch_comm *c, int src, int64_t tag, void *buf, size_t room)
{
	golaunch_request *q = message(c, RECEIVING, TAKE, src, tag, buf, room);

	if (q)
		q->recv = buf;
	return q;
}

void golaunch__again(golaunch_request *q)
{
	q->src = q->root;
	q->tag = q->wanted;
	q->got = q->left = 0;
	q->seq = ++q->job->number << 32 | q->slot;
	golaunch__post(q);
}

void golaunch__excuse(golaunch_comm *c, int dst, int64_t tag, int member, const char *why, size_t size)
{
	size_t room = strlen(why) + 16, n;
	char *text = malloc(room);
	golaunch_request *q;

	if (!text)
		return;
	n = (size_t)snprintf(text, room, "%d %s", member + 1, why);
	q = golaunch__send(c, dst, tag, text, n < size ? n : size - 1);
	if (!q) {
		free(text);
		return;
	}
	q->temp = text;
	q->hidden = 1;
	golaunch__post(q);
}

int golaunch__excused(const char *message, size_t size, char *why, size_t room)
{
	size_t at = 0;
	int member = 0;

	while (at < size && at < 9 && message[at] >= '0' && message[at] <= '9')
		member = member * 10 + message[at++] - '0';
	if (at == 0 || at >= size || message[at] != ' ')
		member = 0, at = size;
	else
		at++;
	if (at < size)
		snprintf(why, room, "%.*s", (int)(size - at), message + at);
	else
		snprintf(why, room, "a member has left");
	return member - 1;
}

void golaunch__refuse(golaunch_comm *c, int64_t tag, int64_t end)
{
	golaunch__put(&c->job->out, &(struct record){.kind = RECV, .fn = REFUSE, .comm = c->id, .src = GOLAUNCH_ANY, .off = tag, .size = end - tag});
	golaunch__flush(c->job);
}

golaunch_request *golaunch__recv_alloc(golaunch_comm *c, int src, int64_t tag, void **data)
{
	golaunch_request *q = message(c, RECEIVING, TAKE, src, tag, NULL, 0);

	if (q) {
		q->data = data;
		q->size = ANY_SIZE;
	}
	return q;
}

static golaunch_request *posted(golaunch_request *q)
{
	return golaunch__handle(q ? golaunch__post(q) : NULL);
}

golaunch_request *golaunch_isend(golaunch_comm *c, int dst, int tag, const void *data, size_t size)
{
	return posted(golaunch__send(c, dst, tag, data, size));
}

golaunch_request *golaunch_irecv(golaunch_comm *c, int src, int tag, void *buf, size_t room)
{
	return posted(golaunch__recv(c, src, tag, buf, room));
}

golaunch_request *golaunch_irecv_alloc(golaunch_comm *c, int src, int tag, void **data)
{
	if (!data) {
		golaunch__fail("recv: NULL is no room for the message's address");
		return golaunch__refused();
	}
	*data = NULL;
	return posted(golaunch__recv_alloc(c, src, tag, data));
}

int golaunch_send(golaunch_comm *c, int dst, int tag, const void *data, size_t size)
{
	return golaunch__wait(golaunch_isend(c, dst, tag, data, size));
}

int golaunch_recv(golaunch_comm *c, int src, int tag, void *buf, size_t room, struct golaunch_message *m)
{
	golaunch_request *q = golaunch_irecv(c, src, tag, buf, room);

	return golaunch_wait_message(&q, m);
}

int golaunch_recv_alloc(golaunch_comm *c, int src, int tag, void **data, struct golaunch_message *m)
{
	golaunch_request *q = golaunch_irecv_alloc(c, src, tag, data);

	return golaunch_wait_message(&q, m);
}

/* probe describes a question for a message. */
static golaunch_request *probe(golaunch_comm *c, enum sort sort, int src, int tag)
{
	if (c && !c->job->prober) {
		golaunch__fail("probe: this golaunch is older than probes");
		return NULL;
	}
	return message(c, RECEIVING, sort, src, tag, NULL, 0);
}

int golaunch_probe(golaunch_comm *c, int src, int tag, struct golaunch_message *m)
{
	golaunch_request *q = probe(c, PROBE, src, tag);

	return q ? golaunch__end(golaunch__post(q), m) : -1;
}

int golaunch_tryprobe(golaunch_comm *c, int src, int tag, struct golaunch_message *m)
{
	golaunch_request *q = probe(c, LOOK, src, tag);
	int found;

	if (!q)
		return -1;
	golaunch__append(&c->job->looks, q);
	ask(q);
	while (!q->done)
		golaunch__progress(c->job);
	found = q->found;
	if (golaunch__end(q, found ? m : NULL))
		return -1;
	return found;
}

/* tag is one for messages of a call that all members make, in one order with others of
 * its sort; 2^20 times any number up to 2^30 may be added to it. Scans have those below. */
int64_t golaunch__tag(golaunch_comm *c, enum library_call call)
{
	c->calls[call]++;
	return BEYOND_SCANS + ((int64_t)call << 56) + c->calls[call] % (1 << 20);
}

/* grow takes part of a message of any size. The sender's word on the size is not
 * believed: memory is taken as the message comes. */
static int grow(golaunch_request *q, const struct record *r)
{
	enum { AT_ONCE = 1 << 20 };
	int64_t size = (int64_t)r->length, have = q->got - q->left, room = q->room ? q->room : q->got < AT_ONCE ? q->got : AT_ONCE;
	char *value;

	while (room < have + size)
		room *= 2;
	if (!q->value || room > q->room) {
		value = realloc(q->value, (size_t)room + 1);
		if (!value)
			return golaunch__fail("out of memory for a message of %lld bytes", (long long)q->got);
		q->value = value;
		q->room = room;
	}
	if (size > 0)
		memcpy(q->value + have, r->body, (size_t)size);
	q->value[have + size] = 0;
	return 0;
}

int golaunch__message(golaunch_job *job, const struct record *r)
{
	struct list *l = r->kind == SEND_PULL || r->kind == TAKEN || r->kind == KEPT ? &job->sends : &job->recvs;
	golaunch_request *q = golaunch__under_way(l, r->seq);
	int64_t size = (int64_t)r->length, at = 0;

	if (!q && r->kind == MATCH)
		q = golaunch__under_way(l = &job->looks, r->seq);
	if (!q || (r->kind == MATCH && (r->fn == PROBE) != (q->sort != TAKE)))
		return golaunch__fail("the agent sent part of a message that is not under way");
	switch (r->kind) {
	case KEPT:
		if (!q->kept) {
			q->kept = 1;
			job->fresh--;
			golaunch__next_messages(job);
		}
		return 0;
	case TAKEN:
		q->left = 0;
		break;
	case SEND_PULL:
		if (r->off < 0 || r->size > CHUNK || r->off > q->size - r->size)
			return golaunch__fail("the agent asked for %lld bytes at %lld of a message of %lld", (long long)r->size, (long long)r->off, (long long)q->size);
		golaunch__put(&job->out, &(struct record){.kind = SEND_DATA, .comm = r->comm, .seq = r->seq, .src = q->comm->rank,
			.dst = r->src, .count = 1, .off = r->off, .body = q->send + r->off, .length = (size_t)r->size});
		return 0;
	case MATCH:
		if (q->sort == TAKE ? r->size > q->size || size > r->size : size > 0)
			return golaunch__fail("the agent sent a message of %lld bytes for room of %lld", (long long)r->size, (long long)q->size);
		q->src = r->src;
		q->tag = r->off;
		q->got = r->size;
		q->left = q->sort == TAKE ? r->size : 0;
		q->found = r->count == 1;
		break;
	default:
		at = r->off;
		if (at < 0 || size > q->left || at > q->got - size || (q->data && at != q->got - q->left))
			return golaunch__fail("the agent sent %lld bytes at %lld of a message of %lld", (long long)size, (long long)at, (long long)q->got);
	}
	if (r->kind != TAKEN && q->sort == TAKE) {
		if (q->data && grow(q, r))
			return -1;
		if (!q->data && size > 0)
			memcpy(q->recv + at, r->body, (size_t)size);
		q->left -= size;
	}
	if (q->left == 0) {
		golaunch__unlist(l, q);
		golaunch__finish(q, NULL);
		golaunch__next_messages(job);
	}
	return 0;
}
