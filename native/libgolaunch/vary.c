/* Calls that are built of several operations: parts of any lengths, functions of the
 * program. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* parts is a gatherv under way. */
struct parts {
	golaunch_comm *comm;
	int root; /* or -1: everywhere */
	const void *send;
	size_t count, element, *counts, total, most;
	int64_t tag; /* of messages */
};

/* learn has all members know all lengths. */
static int learn(struct parts *x)
{
	int64_t mine = (int64_t)x->count, *all = malloc((size_t)x->comm->size * sizeof *all), most = (INT64_C(1) << 40) / (int64_t)x->element;
	int rc = all ? golaunch_allgather(x->comm, &mine, all, sizeof mine) : golaunch__fail("gatherv: out of memory");

	for (int i = 0; i < x->comm->size && !rc; i++) {
		if (all[i] < 0 || all[i] > most)
			rc = golaunch__fail("gatherv: member %d gives %lld elements", i, (long long)all[i]);
		x->counts[i] = (size_t)all[i];
		x->total += (size_t)all[i];
		if (x->most < x->counts[i])
			x->most = x->counts[i];
	}
	free(all);
	return rc;
}

/* alike tells whether parts that are filled up to the longest are at most twice as much,
 * or little. */
static int alike(const struct parts *x)
{
	size_t all = (size_t)x->comm->size * x->most;

	return all <= 2 * x->total || all * x->element <= CHUNK;
}

/* gather_filled gathers parts that are filled up, and moves them together. */
static int gather_filled(const struct parts *x, char *out)
{
	size_t size = x->most * x->element, mine = x->count * x->element, to = 0;
	int gets = x->root < 0 || x->comm->rank == x->root, rc;
	char *part = calloc(1, size + 1), *all = gets ? malloc((size_t)x->comm->size * size + 1) : NULL;

	if (!part || (gets && !all)) {
		rc = golaunch__fail("gatherv: out of memory");
	} else {
		golaunch__copy(part, x->send, (int64_t)mine);
		rc = x->root < 0 ? golaunch_allgather(x->comm, part, all, size) : golaunch_gather(x->comm, x->root, part, all, size);
	}
	for (int i = 0; i < x->comm->size && gets && !rc; i++) {
		golaunch__copy(out + to, all + (size_t)i * size, (int64_t)(x->counts[i] * x->element));
		to += x->counts[i] * x->element;
	}
	free(part);
	free(all);
	return rc;
}

/* excused is for a gatherv that ends here before its messages, of which this member would
 * give some bytes. Others may have come to them. */
static int excused(const struct parts *x, size_t gives)
{
	golaunch_comm *c = x->comm;
	int cause = c->job->cause, member = c->job->member, root = x->root < 0 ? 0 : x->root;
	char *why = strdup(golaunch_error());

	if (cause != GOLAUNCH_LEFT || !why) {
		free(why);
		return -1;
	}
	if (c->rank == root)
		golaunch__refuse(c, x->tag, BEYOND_SCANS + ((int64_t)(VARYING + 1) << 56));
	else if (gives)
		golaunch__excuse(c, root, x->tag, member, why, gives);
	golaunch__fail_as(cause, member, why);
	c->job->cause = cause;
	c->job->member = member;
	free(why);
	return -1;
}

/* excuse_of fails as a member did that sent its reason. */
static int excuse_of(golaunch_job *job, const char *message, size_t size)
{
	char why[512];

	job->member = golaunch__excused(message, size, why, sizeof why);
	job->cause = GOLAUNCH_LEFT;
	return golaunch__fail_as(GOLAUNCH_LEFT, job->member, why);
}

/* gather_messages gathers what is not empty as messages. */
static int gather_messages(const struct parts *x, int root, char *out)
{
	golaunch_comm *c = x->comm;
	golaunch_request **q;
	struct golaunch_message m;
	char *start = out;
	int rc = 0;

	if (c->rank != root) {
		golaunch_request *give = x->count ? golaunch__send(c, root, x->tag, x->send, x->count * x->element) : NULL;

		return x->count ? golaunch__end(give ? golaunch__post(give) : NULL, NULL) : 0;
	}
	q = calloc((size_t)c->size, sizeof *q);
	if (!q)
		return golaunch__fail("gatherv: out of memory");
	for (int i = 0; i < c->size; i++) {
		size_t size = x->counts[i] * x->element;

		if (i == root)
			golaunch__copy(out, x->send, (int64_t)size);
		else if (size > 0 && (q[i] = golaunch__recv(c, i, x->tag, out, size)))
			golaunch__post(q[i]);
		else if (size > 0)
			rc = -1;
		out += size;
	}
	for (int i = 0; i < c->size; i++) { /* all: they have the program's memory */
		size_t size = x->counts[i] * x->element;

		if (q[i] && golaunch__end(q[i], &m))
			rc = -1;
		else if (q[i] && m.size != size)
			rc = excuse_of(c->job, start, m.size);
		start += size;
	}
	free(q);
	return rc;
}

static int gather_parts(struct parts *x, void **recv)
{
	int alone = x->root >= 0 && x->comm->rank != x->root, rc;
	char *out = NULL;

	if (learn(x))
		return excused(x, x->count * x->element);
	if (!alone && !(out = malloc(x->total * x->element + 1)))
		return golaunch__fail("gatherv: out of memory");
	if (alike(x))
		rc = gather_filled(x, out) ? excused(x, 0) : 0;
	else
		rc = gather_messages(x, x->root < 0 ? 0 : x->root, out);
	if (!rc && !alike(x) && x->root < 0)
		rc = golaunch_bcast(x->comm, 0, out, x->total * x->element);
	if (rc)
		free(out);
	else if (recv)
		*recv = out;
	return rc;
}

static int gatherv(const char *call, golaunch_comm *c, int root, const void *send, size_t count, size_t element, void **recv, size_t *counts)
{
	struct parts x = {.comm = c, .root = root, .send = send, .count = count, .element = element, .counts = counts};
	int gets, rc;

	if (golaunch__gone(call, c))
		return -1;
	if (root >= c->size)
		return golaunch__fail("%s: member %d of a communicator of %d", call, root, c->size);
	gets = root < 0 || c->rank == root;
	if (element == 0 || (INT64_C(1) << 40) / element < count)
		return golaunch__fail("%s: %zu elements of %zu bytes; 2^40 bytes are allowed, and no empty elements", call, count, element);
	if ((count > 0 && !send) || (gets && !recv))
		return golaunch__fail("%s: NULL is no %s", call, gets && !recv ? "room for the parts' address" : "buffer to send");
	if (recv)
		*recv = NULL;
	if (!counts && !(x.counts = malloc((size_t)c->size * sizeof *counts)))
		return golaunch__fail("%s: out of memory", call);
	x.tag = golaunch__tag(c, VARYING);
	c->whole++;
	rc = gather_parts(&x, gets ? recv : NULL);
	c->whole--;
	if (!counts)
		free(x.counts);
	return rc;
}

int golaunch_gatherv(golaunch_comm *c, int root, const void *send, size_t count, size_t element, void **recv, size_t *counts)
{
	if (c && root < 0)
		return golaunch__fail("gatherv: member %d of a communicator of %d", root, c->size);
	return gatherv("gatherv", c, root, send, count, element, recv, counts);
}

int golaunch_allgatherv(golaunch_comm *c, const void *send, size_t count, size_t element, void **recv, size_t *counts)
{
	return gatherv("allgatherv", c, -1, send, count, element, recv, counts);
}

/* by_function gathers, piece by piece, at least once, and combines in the order of
 * members; root is -1 for everywhere. */
static int by_function(const char *call, golaunch_comm *c, int root, golaunch_function *f, void *arg, size_t element, const void *send, void *recv, size_t size)
{
	int gets = c && (root < 0 || c->rank == root), rc = 0;
	size_t most;
	char *all;

	if (!golaunch__usable(call, c, root < 0 ? ALLGATHER : GATHER, root < 0 ? 0 : root, send, recv, size))
		return -1;
	if (!f || element == 0 || size % element != 0)
		return golaunch__fail("%s: %zu bytes by elements of %zu%s", call, size, element, f ? "" : ", and NULL is no function");
	most = CHUNK / ((size_t)c->size * element) > 0 ? CHUNK / ((size_t)c->size * element) * element : element;
	all = malloc((size_t)c->size * (most < size ? most : size) + 1);
	if (!all)
		return golaunch__fail("%s: out of memory", call);
	c->whole++;
	for (size_t at = 0, n; (at == 0 || at < size) && !rc; at += most) {
		const char *mine = send ? (const char *)send + at : NULL;
		char *out = recv ? (char *)recv + at : NULL;

		n = size - at < most ? size - at : most;
		rc = root < 0 ? golaunch_allgather(c, mine, all, n) : golaunch_gather(c, root, mine, gets ? all : NULL, n);
		if (rc || !gets)
			continue;
		golaunch__copy(out, all, (int64_t)n);
		for (size_t i = n; i < (size_t)c->size * n; i += element)
			f(out + i % n, all + i, arg);
	}
	c->whole--;
	free(all);
	return rc;
}

int golaunch_reduce_func(golaunch_comm *c, int root, golaunch_function *f, void *arg, size_t element, const void *send, void *recv, size_t size)
{
	if (c && root < 0)
		return golaunch__fail("reduce: member %d of a communicator of %d", root, c->size);
	return by_function("reduce", c, root, f, arg, element, send, recv, size);
}

int golaunch_allreduce_func(golaunch_comm *c, golaunch_function *f, void *arg, size_t element, const void *send, void *recv, size_t size)
{
	return by_function("allreduce", c, -1, f, arg, element, send, recv, size);
}
