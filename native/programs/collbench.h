/*
 * collbench.h: what treebench and mpibench have in common: which operations are
 * timed at which sizes, and how.
 *
 * A program defines way, perform, slowest and agree, and calls
 * collbench. Rank 0 prints "WAY OP BYTES ROUNDS MICROSECONDS" for each: the
 * time of one operation on the rank that took longest.
 */
#ifndef COLLBENCH_H
#define COLLBENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, RING, PINGPONG, STREAM, OPS };

static const char *const op_names[] = {"barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "ring", "pingpong", "stream"};

/* MESSAGES are begun in a stream before any is waited for. */
enum { MESSAGES = 100000 };

static int rank, size;
static unsigned char *mine, *all, *rest; /* one part, or one for each rank */

extern const char *const way; /* its name */
static void perform(int op, size_t bytes);
static double slowest(double seconds);             /* of all ranks */
static void agree(double *seconds);                /* on rank 0's */

static void *room(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p) {
		fprintf(stderr, "collbench: no memory for %zu bytes\n", n);
		exit(1);
	}
	return p;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* for_all tells whether an operation's buffers hold a part for each rank. */
static int for_all(int op) { return op == GATHER || op == SCATTER || op == ALLGATHER || op == ALLTOALL; }

static double timed(int op, size_t bytes, int rounds)
{
	double begin;

	perform(BARRIER, 0);
	begin = now();
	for (int i = 0; i < rounds; i++)
		perform(op, bytes);
	return slowest((now() - begin) / rounds);
}

/* collbench takes, as the program does, how long each operation and size may take, and
 * how many bytes each of a member's buffers has at most. */
static void collbench(int argc, char **argv)
{
	static const size_t sizes[] = {8, 1024, 64 << 10, 1 << 20, 10 << 20, 64 << 20};
	double budget = argc > 1 ? atof(argv[1]) : 0.1;
	size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) : 1 << 20;

	mine = room(most);
	all = room(most);
	rest = room(most);
	/* Short ones first: the rest may be cut off. */
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int op = 0; op < OPS; op++) {
			size_t bytes = op == BARRIER ? 0 : sizes[i];
			double once;
			int rounds;

			if (((op == BARRIER || op == STREAM) && i > 0) || bytes * (for_all(op) ? (size_t)size : 1) > most)
				continue;
			perform(op, bytes);
			once = timed(op, bytes, 1);
			agree(&once);
			rounds = once * 500 < budget ? 500 : (int)(budget / once) + 1;
			if (rounds > 1)
				once = timed(op, bytes, rounds);
			if (rank == 0) {
				printf("%s %s %zu %d %.1f\n", way, op_names[op], bytes, rounds, once * 1e6);
				fflush(stdout);
			}
		}
}

#endif
