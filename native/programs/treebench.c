/*
 * treebench: how long the operations of libgolaunch take (integration/bench/collectives
 * runs it).
 *
 *   treebench [SECONDS [BYTES]]   for each operation and size, 0.1; of each buffer at most, 1 MiB
 */
#include "collbench.h"
#include "golaunch.h"

const char *const way = "tree";

static golaunch_comm *world;

static void must(int rc)
{
	if (rc) {
		fprintf(stderr, "treebench: rank %d: %s\n", rank, golaunch_error());
		exit(1);
	}
}

/* stream sends MESSAGES from rank 0 to the last, all begun before any is waited for. */
static int stream(size_t n)
{
	static golaunch_request *q[MESSAGES];
	int rc = 0;

	if (rank > 0 && rank < size - 1)
		return 0;
	for (int i = 0; i < MESSAGES; i++)
		q[i] = rank == 0 ? golaunch_isend(world, size - 1, 3, mine, n) : golaunch_irecv(world, 0, 3, rest, n);
	for (int i = 0; i < MESSAGES; i++)
		rc |= golaunch_wait(&q[i]);
	return rc;
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
	if (op == STREAM)
		return stream(n);
	if (rank == 0)
		return golaunch_send(world, last, 2, mine, n) | golaunch_recv(world, last, 2, rest, n, NULL);
	if (rank == last)
		return golaunch_recv(world, 0, 2, rest, n, NULL) | golaunch_send(world, 0, 2, mine, n);
	return 0;
}

static void perform(int op, size_t bytes) { must(by_tree(op, bytes)); }

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
	collbench(argc, argv);
	golaunch_close(job);
	return 0;
}
