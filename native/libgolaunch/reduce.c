/* Operations that combine elements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The types and functions of a call's reductions are checked before its
 * communicator. */
static int combinable(const char *call, const golaunch_comm *c, golaunch_type type, golaunch_op op, size_t size)
{
	static const struct {
		const char *name;
		size_t size;
	} types[] = {{"", 0}, {"int32", 4}, {"int64", 8}, {"uint64", 8}, {"float", 4}, {"double", 8}, {"uint8", 1}};
	static const char *const ops[] = {"", "sum", "product", "minimum", "maximum", "and", "or", "exclusive or"};
	int t = (int)type >> 4, located = op == GOLAUNCH_MINLOC || op == GOLAUNCH_MAXLOC;
	size_t each;

	if (((int)type & 0xf) || t < 1 || t > 6)
		return golaunch__fail("%s: %#x is no type", call, (unsigned)type);
	if ((int)op < GOLAUNCH_SUM || op > GOLAUNCH_MAXLOC)
		return golaunch__fail("%s: %#x is no operation", call, (unsigned)op);
	if (op >= GOLAUNCH_AND && !located && (type == GOLAUNCH_FLOAT || type == GOLAUNCH_DOUBLE))
		return golaunch__fail("%s: %s of %s: bitwise operations are for integers", call, ops[op], types[t].name);
	each = located ? sizeof(struct golaunch_indexed) : types[t].size;
	if (size % each != 0)
		return golaunch__fail("%s: %zu bytes are no whole number of %s%s, of %zu bytes each", call, size, located ? "places of " : "", types[t].name, each);
	if (located && c && !c->job->prober)
		return golaunch__fail("%s: this golaunch is older than minloc and maxloc", call);
	return 0;
}

#define NUMBERS(number) \
	for (size_t i = 0; i < size / sizeof(number); i++) { \
		number *a = (number *)acc + i, b = ((const number *)part)[i]; \
		switch (op) { \
		case GOLAUNCH_SUM: *a += b; break; \
		case GOLAUNCH_PROD: *a *= b; break; \
		case GOLAUNCH_MIN: *a = b < *a || isnan((double)b) ? b : *a; break; \
		case GOLAUNCH_MAX: *a = b > *a || isnan((double)b) ? b : *a; break; \
		default: break; \
		} \
	}

#define PLACES(value) \
	for (size_t i = 0; i < size / sizeof(struct golaunch_indexed); i++) { \
		struct golaunch_indexed *a = (struct golaunch_indexed *)acc + i; \
		const struct golaunch_indexed *b = (const struct golaunch_indexed *)part + i; \
		int order = (a->of.value < b->of.value) - (b->of.value < a->of.value); \
		if (isnan((double)a->of.value) || isnan((double)b->of.value)) /* less than numbers */ \
			order = isnan((double)b->of.value) - isnan((double)a->of.value); \
		if (order == 0 ? b->index < a->index : (order > 0) == (op == GOLAUNCH_MAXLOC)) \
			*a = *b; \
	}

static void fold_places(golaunch_type type, golaunch_op op, void *acc, const void *part, size_t size)
{
	switch (type) {
	case GOLAUNCH_INT32: PLACES(int32) break;
	case GOLAUNCH_INT64: PLACES(int64) break;
	case GOLAUNCH_UINT64: PLACES(uint64) break;
	case GOLAUNCH_FLOAT: PLACES(f) break;
	case GOLAUNCH_DOUBLE: PLACES(d) break;
	case GOLAUNCH_UINT8: PLACES(uint8) break;
	}
}

/* fold combines part into acc, both aligned for their type. */
static void fold(golaunch_type type, golaunch_op op, void *acc, const void *part, size_t size)
{
	unsigned char *a = acc;
	const unsigned char *b = part;

	switch (op) { /* these care for no type */
	case GOLAUNCH_MINLOC:
	case GOLAUNCH_MAXLOC:
		fold_places(type, op, acc, part, size);
		return;
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

golaunch_request *golaunch_ireduce(golaunch_comm *c, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	if (combinable("reduce", c, type, op, size))
		return golaunch__refused();
	return golaunch__handle(golaunch__begin("reduce", c, REDUCE, (int)type | (int)op, root, send, recv, size));
}

golaunch_request *golaunch_iallreduce(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	if (combinable("allreduce", c, type, op, size))
		return golaunch__refused();
	return golaunch__handle(golaunch__begin("allreduce", c, ALLREDUCE, (int)type | (int)op, 0, send, recv, size));
}

int golaunch_reduce(golaunch_comm *c, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_ireduce(c, root, type, op, send, recv, size));
}

int golaunch_allreduce(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_iallreduce(c, type, op, send, recv, size));
}

/* built describes an operation of another kind of which an operation is built: its
 * outcome goes to memory of its own, of room bytes, and from there to recv. */
static golaunch_request *built(const char *call, golaunch_comm *c, int op, const void *send, void *recv, size_t size, size_t room)
{
	golaunch_request *q = golaunch__new(call, c->job, OPERATION);

	if (!q)
		return NULL;
	q->comm = c;
	q->op = op;
	q->size = (int64_t)size;
	q->send = send;
	q->part_of = recv;
	q->recv = q->temp = malloc(room + 1);
	if (!q->temp) {
		golaunch__finish(q, "out of memory");
		golaunch__drop(q);
		golaunch__fail("%s: out of memory", call);
		return NULL;
	}
	return q;
}

static void scattered(golaunch_request *q)
{
	int64_t part = q->size / q->comm->size;

	if (!q->error)
		golaunch__copy(q->part_of, (unsigned char *)q->temp + q->comm->rank * part, part);
}

golaunch_request *golaunch_ireduce_scatter(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	golaunch_request *q;

	if (combinable("reduce-scatter", c, type, op, size) || !golaunch__usable("reduce-scatter", c, ALLREDUCE, 0, send, recv, size))
		return golaunch__refused();
	if (!golaunch__usable("reduce-scatter", c, ALLREDUCE, 0, send, recv, (size_t)c->size * size)) /* it is one of all of that */
		return golaunch__refused();
	q = built("reduce-scatter", c, ALLREDUCE, send, recv, (size_t)c->size * size, (size_t)c->size * size);
	if (!q)
		return golaunch__refused();
	q->fn = (int)type | (int)op;
	q->then = scattered;
	return golaunch__handle(golaunch__operate(q));
}

int golaunch_reduce_scatter(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_ireduce_scatter(c, type, op, send, recv, size));
}

/* Scans: an allgather where that is short, and else messages in rounds. */

static void fold_first(golaunch_request *q, int parts)
{
	unsigned char *all = q->temp;

	for (int i = 1; i < parts && !q->error; i++)
		fold((golaunch_type)(q->fn & 0xf0), (golaunch_op)(q->fn & 0x0f), all, all + i * q->size, (size_t)q->size);
	if (parts > 0 && !q->error)
		golaunch__copy(q->part_of, all, q->size);
}

static void scanned(golaunch_request *q) { fold_first(q, q->comm->rank + 1); }
static void exscanned(golaunch_request *q) { fold_first(q, q->comm->rank); }

/* scan is a long one under way; acc is of this member and those before it, as far as is
 * known, before without this member. */
struct scan {
	golaunch_request *whole;
	int step, open, known, exclusive;
	int64_t tag, got, sizes[2]; /* the latter: this member's, and that negated */
	const char *call;
	unsigned char *acc, *part, *before;
	char failed[512]; /* the first error, what kind it is, and who has left */
	int cause, member;
};

static void scan_on(struct scan *x);

/* settle ends a round. */
static void settle(struct scan *x)
{
	golaunch_request *w = x->whole;
	size_t size = (size_t)w->size;
	golaunch_type type = (golaunch_type)(w->fn & 0xf0);
	golaunch_op op = (golaunch_op)(w->fn & 0x0f);

	if (!x->failed[0] && w->comm->rank >= x->step) {
		if (x->got != w->size) { /* the reason why it failed elsewhere */
			x->member = golaunch__excused((char *)x->part, (size_t)x->got, x->failed, sizeof x->failed);
			x->cause = GOLAUNCH_LEFT;
		} else {
			if (x->exclusive && x->known)
				fold(type, op, x->before, x->part, size);
			else if (x->exclusive)
				memcpy(x->before, x->part, size);
			x->known = 1;
			fold(type, op, x->acc, x->part, size);
		}
	}
	x->step *= 2;
	x->tag++;
}

static void exchanged(golaunch_request *q)
{
	struct scan *x = q->part_of;

	if (q->error && !x->failed[0]) {
		snprintf(x->failed, sizeof x->failed, "%s", q->error);
		x->cause = q->cause;
		x->member = q->member;
	}
	if (q->class == RECEIVING)
		x->got = q->got;
	if (--x->open == 0) {
		settle(x);
		scan_on(x);
	}
}

/* exchange begins a message of a round. */
static void exchange(struct scan *x, golaunch_request *q)
{
	if (!q) {
		if (!x->failed[0])
			snprintf(x->failed, sizeof x->failed, "%s", golaunch_error());
		return;
	}
	q->hidden = 1;
	q->part_of = x;
	q->then = exchanged;
	x->open++;
	golaunch__post(q);
}

/* scan_on begins the round in which acc holds what the last step members have together.
 * Where that failed, those that wait for it get the reason instead, which is shorter. */
static void scan_on(struct scan *x)
{
	golaunch_request *w = x->whole;
	golaunch_comm *c = w->comm;
	size_t size = (size_t)w->size;
	const unsigned char *result = x->acc;

	while (x->step < c->size) {
		x->open = 1;
		if (c->rank >= x->step)
			exchange(x, golaunch__recv(c, c->rank - x->step, x->tag, x->part, size));
		if (c->rank + x->step < c->size && x->failed[0])
			golaunch__excuse(c, c->rank + x->step, x->tag, x->member, x->failed, size);
		else if (c->rank + x->step < c->size)
			exchange(x, golaunch__send(c, c->rank + x->step, x->tag, x->acc, size));
		if (--x->open > 0)
			return;
		settle(x);
	}
	if (x->exclusive)
		result = x->known ? x->before : NULL;
	if (!x->failed[0] && result)
		golaunch__copy(w->recv, result, w->size);
	if (x->failed[0]) {
		w->cause = x->cause;
		w->member = x->member;
	}
	golaunch__finish(w, x->failed[0] ? x->failed : NULL);
}

/* excused is for a scan that does not begin here, though it may elsewhere. */
static void excused(struct scan *x, int member, const char *why)
{
	golaunch_comm *c = x->whole->comm;

	golaunch__refuse(c, x->tag, BEYOND_SCANS);
	for (; c->rank + x->step < c->size; x->step *= 2, x->tag++)
		golaunch__excuse(c, c->rank + x->step, x->tag, member, why, (size_t)x->whole->size);
}

/* agreed begins the rounds where all members give as many bytes. */
static void agreed(golaunch_request *q)
{
	struct scan *x = q->part_of;
	golaunch_request *w = x->whole;
	const int64_t *most = q->temp;

	if (q->error) {
		if (q->cause == GOLAUNCH_LEFT)
			excused(x, q->member, q->error);
		w->cause = q->cause;
		w->member = q->member;
		golaunch__finish(w, q->error);
	} else if (most[0] != -most[1]) {
		snprintf(x->failed, sizeof x->failed, "%s: members give %lld to %lld bytes", x->call, (long long)-most[1], (long long)most[0]);
		w->cause = GOLAUNCH_MISMATCH;
		golaunch__finish(w, x->failed);
	} else {
		scan_on(x);
	}
}

/* agree has all members tell how many bytes they give. Short scans begin with another
 * operation, so that agents see who differs in that. */
static int agree(struct scan *x)
{
	golaunch_request *q = built(x->call, x->whole->comm, ALLREDUCE, x->sizes, x, sizeof x->sizes, sizeof x->sizes);

	if (!q)
		return -1;
	q->fn = (int)GOLAUNCH_INT64 | (int)GOLAUNCH_MAX;
	q->then = agreed;
	q->hidden = 1;
	golaunch__operate(q);
	return 0;
}

static golaunch_request *long_scan(const char *call, golaunch_comm *c, int fn, const void *send, void *recv, size_t size, int exclusive)
{
	golaunch_request *w = built(call, c, 0, send, recv, size, sizeof(struct scan) + 3 * size);
	struct scan *x;

	if (!w)
		return NULL;
	x = w->temp;
	memset(x, 0, sizeof *x);
	w->recv = recv;
	w->fn = fn;
	x->whole = w;
	x->call = call;
	x->sizes[0] = (int64_t)size;
	x->sizes[1] = -(int64_t)size;
	x->step = 1;
	x->exclusive = exclusive;
	x->tag = MAX_TAG + ++c->scans * 64;
	x->acc = (unsigned char *)(x + 1);
	x->part = x->acc + size;
	x->before = x->part + size;
	memcpy(x->acc, send, size);
	if (agree(x)) {
		golaunch__finish(w, golaunch_error());
		golaunch__drop(w);
		return NULL;
	}
	return w;
}

static golaunch_request *scan(const char *call, golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size, int exclusive)
{
	golaunch_request *q;

	if (combinable(call, c, type, op, size) || !golaunch__usable(call, c, ALLREDUCE, 0, send, recv, size))
		return golaunch__refused();
	if (!golaunch__eager(ALLGATHER, c->size, (int64_t)size))
		return golaunch__handle(long_scan(call, c, (int)type | (int)op, send, recv, size, exclusive));
	q = built(call, c, ALLGATHER, send, recv, size, (size_t)c->size * size);
	if (!q)
		return golaunch__refused();
	q->fn = (int)type | (int)op;
	q->then = exclusive ? exscanned : scanned;
	return golaunch__handle(golaunch__operate(q));
}

golaunch_request *golaunch_iscan(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return scan("scan", c, type, op, send, recv, size, 0);
}

golaunch_request *golaunch_iexscan(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return scan("exscan", c, type, op, send, recv, size, 1);
}

int golaunch_scan(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_iscan(c, type, op, send, recv, size));
}

int golaunch_exscan(golaunch_comm *c, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size)
{
	return golaunch__wait(golaunch_iexscan(c, type, op, send, recv, size));
}
