/*
 * treemore: what libgolaunch builds of several operations, as an example and a test.
 *
 *   golaunch -n 8 treemore [NUMBERS]
 *
 * Each rank checks what it gets, with so many NUMBERS (10) where lengths are free. Ranks
 * of the same job may be written in Go, if they call the same. The last rank leaves
 * at the end, and the others go on without it; rank 0 says that all is well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golaunch.h"

static int me = -1;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "treemore: rank %d: %s: %s\n", me, what, why);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc)
		die(what, golaunch_error());
}

static void is(const char *what, int right)
{
	if (!right)
		die(what, "a wrong result");
}

static void *room(size_t n)
{
	void *p = calloc(1, n + 1);

	if (!p)
		die("memory", "there is none");
	return p;
}

static void reductions(golaunch_comm *c, size_t n)
{
	int p = golaunch_size(c), r = golaunch_rank(c);
	double *mine = room(8 * n), *before = room(8 * n), *prefix = room(8 * n);
	int64_t *all = room(8 * n * (size_t)p), *part = room(8 * n);
	struct golaunch_indexed place = {.index = r, .of.d = (r + 1) % p};
	golaunch_request *q[3];

	for (size_t i = 0; i < n; i++) {
		mine[i] = r + 1;
		before[i] = -1;
	}
	for (size_t i = 0; i < n * (size_t)p; i++)
		all[i] = r + (int)(i / n);
	q[0] = golaunch_iexscan(c, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, before, 8 * n);
	q[1] = golaunch_iscan(c, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, prefix, 8 * n);
	q[2] = golaunch_ireduce_scatter(c, GOLAUNCH_INT64, GOLAUNCH_SUM, all, part, 8 * n);
	for (int i = 0; i < 3; i++)
		must("a reduction", golaunch_wait(&q[i]));
	for (size_t i = 0; i < n; i++) {
		is("exscan", before[i] == (r ? r * (r + 1) / 2 : -1)); /* the first has nothing before it */
		is("scan", prefix[i] == (r + 1) * (r + 2) / 2);
		is("reduce-scatter", part[i] == p * (p - 1) / 2 + p * r);
	}
	must("exscan", golaunch_exscan(c, GOLAUNCH_DOUBLE, GOLAUNCH_MAX, mine, mine, 8 * n));
	is("exscan in place", n == 0 || mine[n - 1] == (r ? r : 1));
	must("reduce-scatter", golaunch_reduce_scatter(c, GOLAUNCH_INT64, GOLAUNCH_MAX, all, part, 8 * n));
	is("reduce-scatter", n == 0 || part[0] == p - 1 + r);
	must("minloc", golaunch_allreduce(c, GOLAUNCH_DOUBLE, GOLAUNCH_MINLOC, &place, &place, sizeof place));
	is("minloc", place.index == p - 1 && place.of.d == 0);
	place = (struct golaunch_indexed){.index = r, .of.int32 = r / 2};
	must("scan of places", golaunch_scan(c, GOLAUNCH_INT32, GOLAUNCH_MAXLOC, &place, &place, sizeof place));
	is("scan of places", place.index == r / 2 * 2 && place.of.int32 == r / 2);
	free(mine);
	free(before);
	free(prefix);
	free(all);
	free(part);
}

/* digits appends a digit. */
static void digits(void *sum, const void *next, void *base)
{
	*(int64_t *)sum = *(int64_t *)sum * *(int *)base + *(const int64_t *)next;
}

static void functions(golaunch_comm *c, size_t n)
{
	int p = golaunch_size(c), r = golaunch_rank(c), root = p / 2, base = 7;
	int64_t *mine = room(8 * n), *out = room(8 * n), want = 0;

	for (int i = 0; i < p; i++)
		want = want * base + i % 7;
	for (size_t i = 0; i < n; i++)
		mine[i] = r % 7;
	must("reduce by a function", golaunch_reduce_func(c, root, digits, &base, 8, mine, r == root ? out : NULL, 8 * n));
	for (size_t i = 0; i < n && r == root; i++)
		is("reduce by a function", out[i] == want);
	must("allreduce by a function", golaunch_allreduce_func(c, digits, &base, 8, mine, mine, 8 * n));
	for (size_t i = 0; i < n; i++)
		is("allreduce by a function", mine[i] == want);
	free(mine);
	free(out);
}

/* length is that of a rank's part: all are alike, or one is long. */
static size_t length(int way, int rank, int p, size_t n)
{
	return way == 0 ? n + (size_t)rank : rank == p - 1 ? 20 * n : 0;
}

static void parts(golaunch_comm *c, size_t n)
{
	int p = golaunch_size(c), r = golaunch_rank(c), root = p / 2;
	size_t *counts = room((size_t)p * sizeof *counts);

	for (int way = 0; way < 2; way++) {
		size_t count = length(way, r, p, n);
		int32_t *mine = room(4 * count);

		for (size_t i = 0; i < count; i++)
			mine[i] = r * 1000 + (int)(i % 1000);
		for (int everywhere = 0; everywhere < 2; everywhere++) {
			void *got;
			int32_t *at;

			if (everywhere)
				must("allgatherv", golaunch_allgatherv(c, mine, count, 4, &got, counts));
			else
				must("gatherv", golaunch_gatherv(c, root, mine, count, 4, &got, counts));
			is("gatherv elsewhere", (got == NULL) == (!everywhere && r != root));
			at = got;
			for (int i = 0; i < p; i++) {
				is("counts", counts[i] == length(way, i, p, n));
				for (size_t j = 0; j < counts[i] && got; j++)
					is("parts", *at++ == i * 1000 + (int)(j % 1000));
			}
			free(got);
		}
		free(mine);
	}
	free(counts);
}

/* messages sends one around, of a length that the other side does not know. */
static void messages(golaunch_comm *c, size_t size)
{
	int p = golaunch_size(c), r = golaunch_rank(c), left = (r + p - 1) % p;
	char *mine = memset(room(size), 'a' + r % 26, size);
	golaunch_request *q = golaunch_isend(c, (r + 1) % p, 8, mine, size);
	struct golaunch_message seen, again, got;
	void *data;

	must("probe", golaunch_probe(c, GOLAUNCH_ANY, 8, &seen));
	is("probe", seen.source == left && seen.tag == 8 && seen.size == size);
	must("probe again", golaunch_tryprobe(c, left, GOLAUNCH_ANY, &again) != 1);
	is("probe again", again.source == left && again.tag == 8 && again.size == size);
	must("receive", golaunch_recv_alloc(c, seen.source, seen.tag, &data, &got));
	is("message", got.source == left && got.tag == 8 && got.size == size);
	for (size_t i = 0; i < size; i++)
		is("message", ((char *)data)[i] == 'a' + left % 26);
	is("the zero behind it", ((char *)data)[size] == 0);
	is("no message", golaunch_tryprobe(c, left, 8, &again) == 0);
	must("send", golaunch_wait(&q));
	free(data);
	free(mine);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	golaunch_job *job = golaunch_open();
	golaunch_comm *world = golaunch_world(job), *half, *same;
	golaunch_request *q;
	int p, nodes;

	if (!job)
		die("open", golaunch_error());
	me = golaunch_rank(world);
	p = golaunch_size(world);
	nodes = golaunch_nodes(job);
	reductions(world, n);
	functions(world, n);
	parts(world, n);
	messages(world, 8 * n);
	q = golaunch_isplit(world, me % 2, 0, &half);
	must("split", golaunch_wait(&q));
	reductions(half, 2);
	must("free", golaunch_comm_free(&half));
	same = golaunch_shrink(world);
	if (!same)
		die("shrink", golaunch_error());
	is("shrink where all live", golaunch_size(same) == p && golaunch_rank(same) == me);
	if (me < p - 1) {
		golaunch_comm *rest = golaunch_shrink(same);

		if (!rest)
			die("shrink", golaunch_error());
		is("shrink", golaunch_size(rest) == p - 1 && golaunch_rank(rest) == me);
		reductions(rest, n);
	}
	if (me == 0)
		printf("%d ranks on %d nodes, without the last: ok\n", p, nodes);
	golaunch_close(job);
	return 0;
}
