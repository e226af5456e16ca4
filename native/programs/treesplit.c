/*
 * treesplit: communicators made by golaunch_split, as an example and a test.
 *
 *   golaunch -n 512 treesplit [COLORS]     splits, looks members up, broadcasts
 *   golaunch -n 512 treesplit -t [SECONDS] what splits and look-ups cost
 *   golaunch -n 512 treesplit -l           looks members up until that fails
 *
 * Ranks are split by colour and key, from which every rank can tell where every
 * member has to be. Each looks every member of its communicator up, members
 * broadcast, and halves of the communicators are split off and do so, too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "golaunch.h"

static golaunch_job *job;
static int me = -1;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "treesplit: rank %d: %s: %s\n", me, what, why);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc)
		die(what, golaunch_error());
}

static unsigned scramble(unsigned x)
{
	x = (x ^ x >> 16) * 0x45d9f3b;
	x = (x ^ x >> 16) * 0x45d9f3b;
	return x ^ x >> 16;
}

static int colors = 7;

/* One rank in eleven wants no communicator; keys are any, some equal. */
static int color_of(int rank) { return rank % 11 == 10 ? -1 : (int)(scramble((unsigned)rank) % (unsigned)colors); }
static int key_of(int rank) { return (int)(scramble((unsigned)rank * 3 + 1) % 200) - 100; }

static int by_key(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (key_of(x) != key_of(y))
		return key_of(x) < key_of(y) ? -1 : 1;
	return (x > y) - (x < y);
}

/* check looks every member up and has some of them broadcast: members are the
 * ranks that it should have. */
static void check(golaunch_comm *c, const int *members, int count, const int *nodes)
{
	int64_t roots[] = {0, count / 2, count - 1};
	int rank, node;

	if (golaunch_size(c) != count || members[golaunch_rank(c)] != me)
		die("split", "a wrong rank or size");
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < count; i++) {
			int at = (i + golaunch_rank(c)) % count;

			must("locate", golaunch_locate(c, at, &rank, &node));
			if (rank != members[at] || node != nodes[rank])
				die("locate", "another member");
		}
	for (int i = 0; i < 3; i++) {
		int64_t news[500] = {0};

		if (golaunch_rank(c) == roots[i])
			for (int j = 0; j < 500; j++)
				news[j] = (int64_t)me << 20 | j;
		must("bcast", golaunch_bcast(c, (int)roots[i], news, sizeof news));
		for (int j = 0; j < 500; j++)
			if (news[j] != ((int64_t)members[roots[i]] << 20 | j))
				die("bcast", "wrong news");
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct row {
	int key, rank;
};

static int by_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* gathered is a split in which every rank gathers all keys, sorts them, and names
 * all members. */
static golaunch_comm *gathered(golaunch_comm *world, int key)
{
	int n = golaunch_size(world), *ranks = calloc((size_t)n, sizeof *ranks);
	struct row mine = {key, me}, *rows = calloc((size_t)n, sizeof *rows);
	golaunch_comm *made;

	if (!ranks || !rows)
		die("memory", "there is none");
	must("allgather", golaunch_allgather(world, &mine, rows, sizeof mine));
	qsort(rows, (size_t)n, sizeof *rows, by_row);
	for (int i = 0; i < n; i++)
		ranks[i] = rows[i].rank;
	made = golaunch_sub(job, ranks, n);
	must("sub", made ? 0 : -1);
	free(ranks);
	free(rows);
	return made;
}

/* costs prints what splits and look-ups take, as rank 0 sees it, in
 * microseconds: splits by the agents with keys in any order and in order, and by
 * gathering; look-ups the first time and again. */
static void costs(golaunch_comm *world, double seconds)
{
	golaunch_comm *made;
	int n = golaunch_size(world), count, hits = 0;
	double first, again;

	if (me == 0)
		printf("%d", n);
	for (int way = 0; way < 3; way++) {
		double t = now();
		int splits = 0, more = 1;

		while (more) {
			int key = way == 1 ? me : (int)(scramble((unsigned)(me + splits)) >> 1);

			if (way < 2)
				must("split", golaunch_split(world, 0, key, &made));
			else
				made = gathered(world, key);
			must("free", golaunch_comm_free(&made));
			splits++;
			more = now() - t < seconds;
			must("bcast", golaunch_bcast(world, 0, &more, sizeof more));
		}
		if (me == 0)
			printf(" %.1f", (now() - t) / splits * 1e6);
	}
	must("split", golaunch_split(world, 0, (int)(scramble((unsigned)me) >> 1), &made));
	if (me == 0) {
		double t = now();

		count = n < 512 ? n : 512;
		for (int i = 0; i < count; i++)
			must("locate", golaunch_locate(made, i, NULL, NULL));
		first = now() - t;
		t = now();
		do {
			for (int i = 0; i < count; i++)
				must("locate", golaunch_locate(made, i, NULL, NULL));
			hits += count;
			again = now() - t;
		} while (again < seconds);
		printf(" %.1f %.1f\n", first / count * 1e6, again / hits * 1e6);
	}
	must("free", golaunch_comm_free(&made));
}

int main(int argc, char **argv)
{
	golaunch_comm *world, *made, *nested;
	int *members, *half, *nodes, n, node, count = 0, few = 0;

	job = golaunch_open();
	if (!job)
		die("open", golaunch_error());
	world = golaunch_world(job);
	me = golaunch_rank(world);
	n = golaunch_size(world);
	members = calloc((size_t)n, sizeof *members);
	half = calloc((size_t)n, sizeof *half);
	nodes = calloc((size_t)n, sizeof *nodes);
	if (!members || !half || !nodes)
		die("memory", "there is none");
	if (argc > 1 && !strcmp(argv[1], "-t")) {
		costs(world, argc > 2 ? atof(argv[2]) : 1);
		golaunch_close(job);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "-l")) {
		must("split", golaunch_split(world, 0, -me, &made));
		must("barrier", golaunch_barrier(world));
		if (me == 0) {
			puts("looking up");
			fflush(stdout);
		}
		for (int i = 0;; i++) /* always another one, beyond what is remembered too */
			must("locate", golaunch_locate(made, i % n, NULL, NULL));
	}
	if (argc > 1)
		colors = atoi(argv[1]);
	node = golaunch_node(job);
	must("allgather", golaunch_allgather(world, &node, nodes, sizeof node));
	for (int i = 0; i < n; i++)
		if (color_of(i) >= 0 && color_of(i) == color_of(me))
			members[count++] = i;
	qsort(members, (size_t)count, sizeof *members, by_key);
	must("split", golaunch_split(world, color_of(me), key_of(me), &made));
	if (!made != (color_of(me) < 0))
		die("split", "a communicator, or none, against the color");
	if (made) {
		check(made, members, count, nodes);
		/* Every other member, the other way round. */
		must("split", golaunch_split(made, golaunch_rank(made) % 2 ? -1 : 3, -golaunch_rank(made), &nested));
		for (int i = (count - 1) / 2 * 2; i >= 0; i -= 2)
			half[few++] = members[i];
		must("free", golaunch_comm_free(&made));
		if (nested) {
			check(nested, half, few, nodes);
			must("free", golaunch_comm_free(&nested));
		}
	}
	must("barrier", golaunch_barrier(world));
	if (me == 0)
		printf("%d ranks on %d nodes, %d colors: ok\n", n, golaunch_nodes(job), colors);
	golaunch_close(job);
	return 0;
}
