/* Collective operations. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* eager tells whether data are sent without being asked for. */
int golaunch__eager(int op, int64_t members, int64_t size)
{
	switch (op) {
	case GATHER:
	case ALLGATHER:
	case SCATTER:
	case ALLTOALL:
		return size <= CHUNK / members;
	}
	return size <= CHUNK;
}

static void finish_if(golaunch_comm *c, golaunch_request *q)
{
	uint64_t seq = q->seq;

	if (q->left > 0 || q->owed > 0)
		return;
	golaunch__remove(&c->live, q);
	golaunch__finish(q, NULL);
	if (seq % SYNC_EVERY == SYNC_EVERY - 1) {
		c->syncing = 0;
		golaunch__go_on(c);
	}
}

void golaunch__copy(void *to, const void *from, int64_t size)
{
	if (size > 0 && to != from)
		memcpy(to, from, (size_t)size);
}

/* enter tells the agent of an operation, and sends what may be sent at once. */
static void enter(golaunch_comm *c, golaunch_request *q)
{
	int64_t size = q->size, others = (c->size - 1) * size, mine = c->rank * size;
	int root = c->rank == q->root;
	int fn = q->op < REDUCE ? 0 : q->fn; /* a scan's is the ranks' own */
	struct record d = {.kind = DATA, .op = q->op, .comm = c->id, .src = c->rank, .dst = q->root,
		.count = c->size, .size = size, .body = q->send, .length = (size_t)size};
	struct buffer *out = &c->job->out;

	d.seq = q->seq = c->number++;
	golaunch__put(out, &(struct record){.kind = ENTER, .op = q->op, .fn = fn, .comm = c->id, .seq = q->seq, .dst = q->root, .size = size,
		.body = q->send, .length = q->op == SPLIT ? CHOICE : 0});
	switch (q->op) {
	case BARRIER:
	case SPLIT:
		q->left = 1;
		break;
	case BCAST:
		d.dst = 0;
		*(root ? &q->owed : &q->left) = size;
		break;
	case GATHER:
		d.count = 1;
		if (root)
			golaunch__copy(q->recv + mine, q->send, size);
		*(root ? &q->left : &q->owed) = root ? others : size;
		break;
	case ALLGATHER:
		golaunch__copy(q->recv + mine, q->send, size);
		d.dst = 0;
		d.off = mine;
		q->left = others;
		q->owed = size;
		break;
	case SCATTER:
		d.dst = 0;
		d.each = 1;
		d.length = (size_t)(c->size * size);
		if (root)
			golaunch__copy(q->recv, q->send + mine, size);
		*(root ? &q->owed : &q->left) = root ? others : size;
		break;
	case ALLTOALL:
		golaunch__copy(q->recv + mine, q->send + mine, size);
		d.dst = 0;
		d.each = 1;
		d.length = (size_t)(c->size * size);
		q->left = q->owed = others;
		break;
	default:
		d.kind = UP;
		d.fn = q->fn;
		d.count = 0;
		q->owed = size;
		q->left = root || q->op == ALLREDUCE ? size : 0;
	}
	if (c->size == 1 && q->op != BARRIER && q->op < REDUCE)
		q->left = q->owed = 0;
	if (q->owed > 0 && golaunch__eager(q->op, c->size, size)) {
		golaunch__put(out, &d);
		q->owed = 0;
	}
	golaunch__append(&c->live, q);
	finish_if(c, q);
}

/* go_on enters what waits. One in SYNC_EVERY operations is a barrier, whether the
 * program asked for it or not, and others wait for it. */
void golaunch__go_on(golaunch_comm *c)
{
	while (c->queue.first && !c->syncing) {
		golaunch_request *q = c->queue.first;

		if (c->number % SYNC_EVERY == SYNC_EVERY - 1) {
			if (q->op != BARRIER) {
				q = golaunch__new("barrier", c->job, OPERATION);
				if (!q)
					return;
				q->comm = c;
				q->op = BARRIER;
				q->hidden = 1;
			} else {
				golaunch__remove(&c->queue, q);
			}
			c->syncing = 1;
		} else {
			golaunch__remove(&c->queue, q);
		}
		enter(c, q);
	}
}

/* usable tells whether an operation can be begun with these arguments. */
int golaunch__usable(const char *call, const golaunch_comm *c, int op, int root, const void *send, const void *recv, size_t size)
{
	const unsigned char *out = send, *in = recv;
	int is_root, gives, gets;

	if (golaunch__gone(call, c))
		return 0;
	if (root < 0 || root >= c->size)
		return !golaunch__fail("%s: member %d of a communicator of %d", call, root, c->size);
	if (size > (uint64_t)MAX_BYTES / (uint64_t)c->size)
		return !golaunch__fail("%s: %zu bytes for each of %d members are more than an operation can move", call, size, c->size);
	is_root = c->rank == root;
	gives = op != SCATTER || is_root;
	gets = is_root || (op != GATHER && op != REDUCE);
	if (size > 0 && ((gives && !send) || (gets && !recv)))
		return !golaunch__fail("%s: %zu bytes without a buffer to %s", call, size, gives && !send ? "send" : "receive");
	if (op == ALLTOALL && out < in + (size_t)c->size * size && in < out + (size_t)c->size * size)
		return !golaunch__fail("%s: the buffers share memory", call);
	return 1;
}

/* operate begins an operation that is described. */
golaunch_request *golaunch__operate(golaunch_request *q)
{
	golaunch_comm *c = q->comm;

	golaunch__append(&c->queue, q);
	golaunch__go_on(c);
	golaunch__flush(c->job);
	return q;
}

golaunch_request *golaunch__begin(const char *call, golaunch_comm *c, int op, int fn, int root, const void *send, void *recv, size_t size)
{
	golaunch_request *q = golaunch__usable(call, c, op, root, send, recv, size) ? golaunch__new(call, c->job, OPERATION) : NULL;

	if (!q)
		return NULL;
	q->comm = c;
	q->op = op;
	q->fn = fn;
	q->root = root;
	q->size = (int64_t)size;
	q->send = send;
	q->recv = recv;
	return golaunch__operate(q);
}

/* answer sends what was asked for. */
static int answer(golaunch_comm *c, golaunch_request *q, const struct record *r)
{
	struct record d = {.kind = DATA, .op = q->op, .comm = c->id, .seq = q->seq, .src = c->rank, .dst = r->src,
		.count = 1, .off = r->off, .size = q->size};
	int64_t at = r->off, size = r->size, mine = c->rank * q->size, total = q->size;

	switch (q->op) {
	case BCAST:
		d.dst = 0;
		d.count = c->size;
		break;
	case ALLGATHER: {
		int64_t end = at + size < mine + q->size ? at + size : mine + q->size;

		d.dst = 0;
		d.count = c->size;
		d.off = at > mine ? at : mine;
		at = d.off - mine;
		size = end - d.off;
		break;
	}
	case SCATTER:
	case ALLTOALL:
		at += r->src * q->size;
		total *= c->size;
		break;
	case REDUCE:
	case ALLREDUCE:
		d.kind = UP;
		d.fn = q->fn;
		d.dst = q->root;
		d.off = r->off / CHUNK;
		d.count = 0;
	}
	if (size <= 0 || size > CHUNK || size > q->owed || at < 0 || at > total - size)
		return golaunch__fail("the agent asked for %lld bytes at %lld of an operation of %lld", (long long)size, (long long)at, (long long)q->size);
	d.body = q->send + at;
	d.length = (size_t)size;
	golaunch__put(&c->job->out, &d);
	q->owed -= size;
	finish_if(c, q);
	return 0;
}

int golaunch__operation(golaunch_job *job, const struct record *r)
{
	golaunch_comm *c = job->comms;
	golaunch_request *q;
	int64_t at = r->off, size = (int64_t)r->length, room;

	while (c && c->id != r->comm)
		c = c->next;
	q = c ? golaunch__find(&c->live, r->seq) : NULL;
	if (!q || q->op != r->op)
		return golaunch__fail("the agent sent data of an operation that is not under way");
	if (r->kind == PULL)
		return answer(c, q, r);
	room = q->size;
	switch (q->op) {
	case SPLIT:
		if (golaunch__made(q, r))
			return -1; /* fall through */
	case BARRIER:
		q->left = 0;
		finish_if(c, q);
		return 0;
	case GATHER:
	case ALLTOALL:
		at += r->src * q->size; /* fall through */
	case ALLGATHER:
		room *= c->size;
	}
	if (size > q->left || at < 0 || at > room - size)
		return golaunch__fail("the agent sent %lld bytes at %lld of an operation of %lld", (long long)size, (long long)at, (long long)q->size);
	golaunch__copy(q->recv + at, r->body, size);
	q->left -= size;
	finish_if(c, q);
	return 0;
}

/* Calls that begin operations, and others that wait for them. */

golaunch_request *golaunch_ibarrier(golaunch_comm *c)
{
	return golaunch__handle(golaunch__begin("barrier", c, BARRIER, 0, 0, NULL, NULL, 0));
}

golaunch_request *golaunch_ibcast(golaunch_comm *c, int root, void *buf, size_t size)
{
	return golaunch__handle(golaunch__begin("bcast", c, BCAST, 0, root, buf, buf, size));
}

golaunch_request *golaunch_igather(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return golaunch__handle(golaunch__begin("gather", c, GATHER, 0, root, send, recv, size));
}

golaunch_request *golaunch_iallgather(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return golaunch__handle(golaunch__begin("allgather", c, ALLGATHER, 0, 0, send, recv, size));
}

golaunch_request *golaunch_iscatter(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return golaunch__handle(golaunch__begin("scatter", c, SCATTER, 0, root, send, recv, size));
}

golaunch_request *golaunch_ialltoall(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return golaunch__handle(golaunch__begin("alltoall", c, ALLTOALL, 0, 0, send, recv, size));
}

int golaunch_barrier(golaunch_comm *c) { return golaunch__wait(golaunch_ibarrier(c)); }

int golaunch_bcast(golaunch_comm *c, int root, void *buf, size_t size)
{
	return golaunch__wait(golaunch_ibcast(c, root, buf, size));
}

int golaunch_gather(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_igather(c, root, send, recv, size));
}

int golaunch_allgather(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_iallgather(c, send, recv, size));
}

int golaunch_scatter(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_iscatter(c, root, send, recv, size));
}

int golaunch_alltoall(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_ialltoall(c, send, recv, size));
}
