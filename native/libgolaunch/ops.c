/* Collective operations. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* eager tells whether data are sent without being asked for. */
static int eager(int op, int64_t members, int64_t size)
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

static void copy(void *to, const void *from, int64_t size)
{
	if (size > 0 && to != from)
		memcpy(to, from, (size_t)size);
}

/* enter tells the agent of an operation, and sends what may be sent at once. */
static void enter(golaunch_comm *c, golaunch_request *q)
{
	int64_t size = q->size, others = (c->size - 1) * size, mine = c->rank * size;
	int root = c->rank == q->root;
	struct record d = {.kind = DATA, .op = q->op, .comm = c->id, .src = c->rank, .dst = q->root,
		.count = c->size, .size = size, .body = q->send, .length = (size_t)size};
	struct buffer *out = &c->job->out;

	d.seq = q->seq = c->number++;
	golaunch__put(out, &(struct record){.kind = ENTER, .op = q->op, .fn = q->fn, .comm = c->id, .seq = q->seq, .dst = q->root, .size = size,
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
			copy(q->recv + mine, q->send, size);
		*(root ? &q->left : &q->owed) = root ? others : size;
		break;
	case ALLGATHER:
		copy(q->recv + mine, q->send, size);
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
			copy(q->recv, q->send + mine, size);
		*(root ? &q->owed : &q->left) = root ? others : size;
		break;
	case ALLTOALL:
		copy(q->recv + mine, q->send + mine, size);
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
	if (q->owed > 0 && eager(q->op, c->size, size)) {
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
				q = golaunch__new(c->job, OPERATION);
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
static int usable(const golaunch_comm *c, int op, int root, const void *send, const void *recv, size_t size)
{
	const unsigned char *out = send, *in = recv;
	int is_root, gives, gets;

	if (!c)
		return !golaunch__no_comm();
	if (root < 0 || root >= c->size)
		return !golaunch__fail("member %d of a communicator of %d", root, c->size);
	if (size > (uint64_t)MAX_BYTES / (uint64_t)c->size)
		return !golaunch__fail("%zu bytes for each of %d members are more than an operation can move", size, c->size);
	is_root = c->rank == root;
	gives = op != SCATTER || is_root;
	gets = is_root || (op != GATHER && op != REDUCE);
	if (size > 0 && ((gives && !send) || (gets && !recv)))
		return !golaunch__fail("an operation of %zu bytes without a buffer to %s", size, gives && !send ? "send" : "receive");
	if (op == ALLTOALL && out < in + (size_t)c->size * size && in < out + (size_t)c->size * size)
		return !golaunch__fail("alltoall: the buffers share memory");
	return 1;
}

golaunch_request *golaunch__begin(golaunch_comm *c, int op, int fn, int root, const void *send, void *recv, size_t size)
{
	golaunch_request *q = usable(c, op, root, send, recv, size) ? golaunch__new(c->job, OPERATION) : NULL;

	if (!q)
		return NULL;
	q->comm = c;
	q->op = op;
	q->fn = fn;
	q->root = root;
	q->size = (int64_t)size;
	q->send = send;
	q->recv = recv;
	golaunch__append(&c->queue, q);
	golaunch__go_on(c);
	golaunch__flush(c->job);
	return q;
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
	copy(q->recv + at, r->body, size);
	q->left -= size;
	finish_if(c, q);
	return 0;
}

static golaunch_request *begin(golaunch_comm *c, int op, int fn, int root, const void *send, void *recv, size_t size)
{
	return golaunch__handle(golaunch__begin(c, op, fn, root, send, recv, size));
}

golaunch_request *golaunch_ibarrier(golaunch_comm *c) { return begin(c, BARRIER, 0, 0, NULL, NULL, 0); }

golaunch_request *golaunch_ibcast(golaunch_comm *c, int root, void *buf, size_t size)
{
	return begin(c, BCAST, 0, root, buf, buf, size);
}

golaunch_request *golaunch_igather(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return begin(c, GATHER, 0, root, send, recv, size);
}

golaunch_request *golaunch_iallgather(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return begin(c, ALLGATHER, 0, 0, send, recv, size);
}

golaunch_request *golaunch_iscatter(golaunch_comm *c, int root, const void *send, void *recv, size_t size)
{
	return begin(c, SCATTER, 0, root, send, recv, size);
}

golaunch_request *golaunch_ialltoall(golaunch_comm *c, const void *send, void *recv, size_t size)
{
	return begin(c, ALLTOALL, 0, 0, send, recv, size);
}

static int combinable(const char *call, golaunch_type type, golaunch_op op, size_t size)
{
	static const struct {
		const char *name;
		size_t size;
	} types[] = {{"", 0}, {"int32", 4}, {"int64", 8}, {"uint64", 8}, {"float", 4}, {"double", 8}, {"uint8", 1}};
	static const char *const ops[] = {"", "sum", "product", "minimum", "maximum", "and", "or", "exclusive or"};
	int t = (int)type >> 4;

	if (((int)type & 0xf) || t < 1 || t > 6)
		return golaunch__fail("%s: %#x is no type", call, (unsigned)type);
	if ((int)op < GOLAUNCH_SUM || op > GOLAUNCH_XOR)
		return golaunch__fail("%s: %#x is no operation", call, (unsigned)op);
	if (op >= GOLAUNCH_AND && (type == GOLAUNCH_FLOAT || type == GOLAUNCH_DOUBLE))
		return golaunch__fail("%s: %s of %s: bitwise operations are for integers", call, ops[op], types[t].name);
	if (size % types[t].size != 0)
		return golaunch__fail("%s: %zu bytes are no whole number of %s, of %zu bytes each", call, size, types[t].name, types[t].size);
	return 0;
}

golaunch_request *golaunch_ireduce(golaunch_comm *c, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return combinable("reduce", type, op, size) ? golaunch__refused() : begin(c, REDUCE, (int)type | (int)op, root, send, recv, size);
}

golaunch_request *golaunch_iallreduce(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return combinable("allreduce", type, op, size) ? golaunch__refused() : begin(c, ALLREDUCE, (int)type | (int)op, 0, send, recv, size);
}

#define NUMBERS(number) \
	for (size_t i = 0; i < size / sizeof(number); i++) { \
		number *a = (number *)acc + i, b = ((const number *)part)[i]; \
		switch (op) { \
		case GOLAUNCH_SUM: *a += b; break; \
		case GOLAUNCH_PROD: *a *= b; break; \
		case GOLAUNCH_MIN: *a = b < *a ? b : *a; break; \
		case GOLAUNCH_MAX: *a = b > *a ? b : *a; break; \
		default: break; \
		} \
	}

/* fold combines part into acc, both aligned for their type. */
static void fold(golaunch_type type, golaunch_op op, void *acc, const void *part, size_t size)
{
	unsigned char *a = acc;
	const unsigned char *b = part;

	switch (op) { /* these care for no type */
	case GOLAUNCH_AND:
		for (size_t i = 0; i < size; i++)
			a[i] &= b[i];
		return;
	case GOLAUNCH_OR:
		for (size_t i = 0; i < size; i++)
			a[i] |= b[i];
		return;
	case GOLAUNCH_XOR:
		for (size_t i = 0; i < size; i++)
			a[i] ^= b[i];
		return;
	default:
		break;
	}
	switch (type) {
	case GOLAUNCH_INT32: NUMBERS(int32_t) break;
	case GOLAUNCH_INT64: NUMBERS(int64_t) break;
	case GOLAUNCH_UINT64: NUMBERS(uint64_t) break;
	case GOLAUNCH_FLOAT: NUMBERS(float) break;
	case GOLAUNCH_DOUBLE: NUMBERS(double) break;
	case GOLAUNCH_UINT8: NUMBERS(uint8_t) break;
	}
}

/* note keeps the first error of several. */
static int note(int rc, char *kept, size_t room, const char *why)
{
	if (rc == 0) {
		strncpy(kept, why, room - 1);
		kept[room - 1] = 0;
	}
	return -1;
}

int golaunch_scan(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	size_t parts;
	unsigned char *part;
	char failed[512] = "";
	int rc = 0;

	if (combinable("scan", type, op, size) || !usable(c, ALLREDUCE, 0, send, recv, size))
		return -1;
	parts = eager(ALLGATHER, c->size, (int64_t)size) ? (size_t)c->size : 1;
	part = malloc(parts * size + 1);
	if (!part)
		return golaunch__fail("out of memory");
	copy(recv, send, (int64_t)size);
	if (eager(ALLGATHER, c->size, (int64_t)size)) {
		rc = golaunch_allgather(c, send, part, size);
		for (int i = 0; rc == 0 && i < c->rank; i++)
			fold(type, op, recv, part + (size_t)i * size, size);
		free(part);
		return rc;
	}
	c->scans++;
	for (int step = 1, round = 0; step < c->size; step *= 2, round++) {
		int64_t tag = MAX_TAG + c->scans * 64 + round;
		size_t why = strlen(failed) < size ? strlen(failed) : size - 1;
		golaunch_request *get = NULL, *give = NULL;
		struct golaunch_message got;

		/* Those that wait for what failed get the reason, which is shorter. */
		if (c->rank >= step)
			get = golaunch__irecv(c, c->rank - step, tag, part, size);
		if (c->rank + step < c->size)
			give = golaunch__isend(c, c->rank + step, tag, rc ? failed : recv, rc ? why : size);
		if (c->rank + step < c->size && golaunch__end(give, NULL))
			rc = note(rc, failed, sizeof failed, golaunch_error());
		if (c->rank < step)
			continue;
		if (golaunch__end(get, &got)) {
			rc = note(rc, failed, sizeof failed, golaunch_error());
		} else if (got.size != size) {
			part[got.size] = 0;
			rc = note(rc, failed, sizeof failed, (char *)part);
		} else if (rc == 0) {
			fold(type, op, recv, part, size);
		}
	}
	free(part);
	return rc ? golaunch__fail("%s", failed) : 0;
}
