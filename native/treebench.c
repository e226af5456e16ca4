/*
 * treebench: how long the operations of libgolaunch take (integration/collbench
 * runs it), and the same data brought to rank 0 by a gather and from there to
 * everyone.
 *
 *   treebench [SECONDS]   for each operation and size; 0.1
 */
#include "collbench.h"
#include "golaunch.h"

const char *const ways[] = {"tree", "root", NULL};

enum { ROOT_MOST = 64 << 20 }; /* bytes at rank 0 */

static golaunch_comm *world;
static unsigned char *heap, *sorted; /* rank 0's */

static void must(int rc)
{
	if (rc) {
		fprintf(stderr, "treebench: rank %d: %s\n", rank, golaunch_error());
		exit(1);
	}
}

static int by_tree(int op, size_t n)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size, last = size - 1;

	switch (op) {
	case BARRIER: return golaunch_barrier(world);
	case BCAST: return golaunch_bcast(world, 0, mine, n);
	case GATHER: return golaunch_gather(world, 0, mine, all, n);
	case SCATTER: return golaunch_scatter(world, 0, all, mine, n);
	case ALLGATHER: return golaunch_allgather(world, mine, all, n);
	case ALLTOALL: return golaunch_alltoall(world, all, rest, n);
	case REDUCE: return golaunch_reduce(world, 0, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, rest, n);
	case ALLREDUCE: return golaunch_allreduce(world, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, rest, n);
	case RING: {
		golaunch_request *q = golaunch_irecv(world, left, 1, rest, n);

		return golaunch_send(world, right, 1, mine, n) | golaunch_wait(&q);
	}
	}
	if (rank == 0)
		return golaunch_send(world, last, 2, mine, n) | golaunch_recv(world, last, 2, rest, n, NULL);
	if (rank == last)
		return golaunch_recv(world, 0, 2, rest, n, NULL) | golaunch_send(world, 0, 2, mine, n);
	return 0;
}

/* by_root returns 1 where there is nothing to compare. */
static int by_root(int op, size_t n)
{
	size_t total = n * (size_t)size, each = op == ALLTOALL ? total : n;

	if (op == BARRIER)
		return golaunch_gather(world, 0, mine, heap, 1) | golaunch_bcast(world, 0, mine, 1);
	if (op == BCAST || op == GATHER || op == SCATTER || op == PINGPONG || each * (size_t)size > ROOT_MOST)
		return 1;
	must(golaunch_gather(world, 0, op == ALLTOALL ? all : mine, heap, each));
	if (rank == 0)
		switch (op) {
		case ALLTOALL:
			for (size_t i = 0; i < (size_t)size; i++)
				for (size_t j = 0; j < (size_t)size; j++)
					memcpy(sorted + j * total + i * n, heap + i * total + j * n, n);
			break;
		case RING:
			memcpy(sorted + n, heap, total - n);
			memcpy(sorted, heap + total - n, n);
			break;
		case REDUCE:
		case ALLREDUCE:
			memcpy(rest, heap, n);
			for (size_t i = 1; i < (size_t)size; i++)
				for (size_t j = 0; j < n / sizeof(double); j++)
					((double *)rest)[j] += ((double *)(heap + i * n))[j];
		}
	switch (op) {
	case ALLTOALL:
	case RING: return golaunch_scatter(world, 0, sorted, rest, each);
	case ALLGATHER: return golaunch_bcast(world, 0, rank == 0 ? heap : all, total);
	case ALLREDUCE: return golaunch_bcast(world, 0, rest, n);
	}
	return 0;
}

static int perform(int way, int op, size_t bytes)
{
	int rc = way == 0 ? by_tree(op, bytes) : by_root(op, bytes);

	must(rc < 0 ? rc : 0);
	return rc;
}

static double slowest(double seconds)
{
	double most;

	must(golaunch_allreduce(world, GOLAUNCH_DOUBLE, GOLAUNCH_MAX, &seconds, &most, sizeof most));
	return most;
}

static void agree(double *seconds) { must(golaunch_bcast(world, 0, seconds, sizeof *seconds)); }

int main(int argc, char **argv)
{
	golaunch_job *job = golaunch_open();

	if (!job)
		must(-1);
	world = golaunch_world(job);
	rank = golaunch_rank(world);
	size = golaunch_size(world);
	if (rank == 0) {
		heap = room(ROOT_MOST);
		sorted = room(ROOT_MOST);
	}
	collbench(argc > 1 ? atof(argv[1]) : 0.1);
	golaunch_close(job);
	return 0;
}
