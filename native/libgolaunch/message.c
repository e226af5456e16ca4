/* Messages, and the calls that wait. */
#include <string.h>

#include "internal.h"

/* next_messages sends what the agent has room for. */
void golaunch__next_messages(golaunch_job *job)
{
	golaunch_request *q;

	while ((q = job->send_queue.first) && job->sends.count < MAX_REQUESTS) {
		golaunch__remove(&job->send_queue, q);
		golaunch__append(&job->sends, q);
		golaunch__put(&job->out, &(struct record){.kind = SEND, .comm = q->comm->id, .seq = q->seq, .src = q->comm->rank,
			.dst = q->root, .count = 1, .off = q->tag, .size = q->size, .body = q->send, .length = q->size <= CHUNK ? (size_t)q->size : 0});
	}
	while ((q = job->recv_queue.first) && job->recvs.count < MAX_REQUESTS) {
		golaunch__remove(&job->recv_queue, q);
		golaunch__append(&job->recvs, q);
		golaunch__put(&job->out, &(struct record){.kind = RECV, .comm = q->comm->id, .seq = q->seq, .src = q->src,
			.off = q->tag, .size = q->size});
	}
}

static golaunch_request *message(golaunch_comm *c, enum class class, int peer, int64_t tag, const void *buffer, size_t size)
{
	golaunch_request *q;

	if (!c) {
		golaunch__no_comm();
		return NULL;
	}
	if (size > 0 && !buffer) {
		golaunch__fail("a message of %zu bytes without a buffer", size);
		return NULL;
	}
	if (peer >= c->size || peer < (class == RECEIVING ? GOLAUNCH_ANY : 0) || tag < (class == RECEIVING ? GOLAUNCH_ANY : 0)) {
		golaunch__fail("a message with tag %lld, member %d of %d", (long long)tag, peer, c->size);
		return NULL;
	}
	if (size > (size_t)MAX_BYTES) {
		golaunch__fail("a message of %zu bytes", size);
		return NULL;
	}
	q = golaunch__new(c->job, class);
	if (!q)
		return NULL;
	q->comm = c;
	q->seq = ++c->job->number;
	q->tag = tag;
	q->root = q->src = peer;
	return q;
}

golaunch_request *golaunch__isend(golaunch_comm *c, int dst, int64_t tag, const void *data, size_t size)
{
	golaunch_request *q = message(c, SENDING, dst, tag, data, size);

	if (q) {
		q->send = data;
		q->size = (int64_t)size;
		golaunch__append(&c->job->send_queue, q);
		golaunch__next_messages(c->job);
		golaunch__flush(c->job);
	}
	return q;
}

golaunch_request *golaunch__irecv(golaunch_comm *c, int src, int64_t tag, void *buf, size_t room)
{
	golaunch_request *q = message(c, RECEIVING, src, tag, buf, room);

	if (q) {
		q->recv = buf;
		q->size = (int64_t)room;
		golaunch__append(&c->job->recv_queue, q);
		golaunch__next_messages(c->job);
		golaunch__flush(c->job);
	}
	return q;
}

golaunch_request *golaunch_isend(golaunch_comm *c, int dst, int tag, const void *data, size_t size)
{
	return golaunch__handle(golaunch__isend(c, dst, tag, data, size));
}

golaunch_request *golaunch_irecv(golaunch_comm *c, int src, int tag, void *buf, size_t room)
{
	return golaunch__handle(golaunch__irecv(c, src, tag, buf, room));
}

int golaunch__message(golaunch_job *job, const struct record *r)
{
	struct list *l = r->kind == SEND_PULL || r->kind == TAKEN ? &job->sends : &job->recvs;
	golaunch_request *q = golaunch__find(l, r->seq);
	int64_t size = (int64_t)r->length, at = 0;

	if (!q)
		return golaunch__fail("the agent sent part of a message that is not under way");
	switch (r->kind) {
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
		if (r->size > q->size || size > r->size)
			return golaunch__fail("the agent sent a message of %lld bytes for room of %lld", (long long)r->size, (long long)q->size);
		q->src = r->src;
		q->tag = r->off;
		q->got = q->left = r->size;
		break;
	default:
		at = r->off;
		if (at < 0 || size > q->left || at > q->got - size)
			return golaunch__fail("the agent sent %lld bytes at %lld of a message of %lld", (long long)size, (long long)at, (long long)q->got);
	}
	if (r->kind != TAKEN) {
		if (size > 0)
			memcpy(q->recv + at, r->body, (size_t)size);
		q->left -= size;
	}
	if (q->left == 0) {
		golaunch__remove(l, q);
		golaunch__finish(q, NULL);
		golaunch__next_messages(job);
	}
	return 0;
}

/* The calls that wait. */

static int done(golaunch_request *q) { return golaunch_wait(&q); }

int golaunch_barrier(golaunch_comm *c) { return done(golaunch_ibarrier(c)); }

int golaunch_bcast(golaunch_comm *c, int root, void *buf, size_t size)
{
	return done(golaunch_ibcast(c, root, buf, size));
}

int golaunch_gather(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return done(golaunch_igather(c, root, send, recv, size));
}

int golaunch_allgather(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return done(golaunch_iallgather(c, send, recv, size));
}

int golaunch_scatter(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return done(golaunch_iscatter(c, root, send, recv, size));
}

int golaunch_alltoall(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return done(golaunch_ialltoall(c, send, recv, size));
}

int golaunch_reduce(golaunch_comm *c, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return done(golaunch_ireduce(c, root, type, op, send, recv, size));
}

int golaunch_allreduce(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return done(golaunch_iallreduce(c, type, op, send, recv, size));
}

int golaunch_send(golaunch_comm *c, int dst, int tag, const void *data, size_t size)
{
	return done(golaunch_isend(c, dst, tag, data, size));
}

int golaunch_recv(golaunch_comm *c, int src, int tag, void *buf, size_t room, struct golaunch_message *m)
{
	golaunch_request *q = golaunch_irecv(c, src, tag, buf, room);

	return golaunch_wait_message(&q, m);
}
