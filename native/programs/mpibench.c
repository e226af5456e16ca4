/*
 * mpibench: how long MPI takes for what treebench does.
 *
 *   mpibench [SECONDS [BYTES]]   for each operation and size, 0.1; of each buffer at most, 1 MiB
 */
#include <mpi.h>

#include "collbench.h"

const char *const way = "mpi";

/* stream sends MESSAGES from rank 0 to the last, all begun before any is waited for. */
static int stream(int n)
{
	static MPI_Request q[MESSAGES];
	static MPI_Status got[MESSAGES];

	if (rank > 0 && rank < size - 1)
		return 0;
	for (int i = 0; i < MESSAGES; i++) {
		if (rank == 0)
			MPI_Isend(mine, n, MPI_BYTE, size - 1, 3, MPI_COMM_WORLD, &q[i]);
		else
			MPI_Irecv(rest, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q[i]);
	}
	return MPI_Waitall(MESSAGES, q, got);
}

static int by_mpi(int op, size_t bytes)
{
	const MPI_Comm world = MPI_COMM_WORLD;
	int n = (int)bytes, elements = n / (int)sizeof(double);
	int left = (rank + size - 1) % size, right = (rank + 1) % size, last = size - 1;

	switch (op) {
	case BARRIER: return MPI_Barrier(world);
	case BCAST: return MPI_Bcast(mine, n, MPI_BYTE, 0, world);
	case GATHER: return MPI_Gather(mine, n, MPI_BYTE, all, n, MPI_BYTE, 0, world);
	case SCATTER: return MPI_Scatter(all, n, MPI_BYTE, mine, n, MPI_BYTE, 0, world);
	case ALLGATHER: return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, world);
	case ALLTOALL: return MPI_Alltoall(all, n, MPI_BYTE, rest, n, MPI_BYTE, world);
	case REDUCE: return MPI_Reduce(mine, rest, elements, MPI_DOUBLE, MPI_SUM, 0, world);
	case ALLREDUCE: return MPI_Allreduce(mine, rest, elements, MPI_DOUBLE, MPI_SUM, world);
	case RING: return MPI_Sendrecv(mine, n, MPI_BYTE, right, 1, rest, n, MPI_BYTE, left, 1, world, MPI_STATUS_IGNORE);
	}
	if (op == STREAM)
		return stream(n);
	if (rank == 0)
		return MPI_Send(mine, n, MPI_BYTE, last, 2, world) | MPI_Recv(rest, n, MPI_BYTE, last, 2, world, MPI_STATUS_IGNORE);
	if (rank == last)
		return MPI_Recv(rest, n, MPI_BYTE, 0, 2, world, MPI_STATUS_IGNORE) | MPI_Send(mine, n, MPI_BYTE, 0, 2, world);
	return 0;
}

/* Errors end the job: so MPI_COMM_WORLD has it. */
static void perform(int op, size_t bytes) { (void)by_mpi(op, bytes); }

static double slowest(double seconds)
{
	double most;

	MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

static void agree(double *seconds) { MPI_Bcast(seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	collbench(argc, argv);
	MPI_Finalize();
	return 0;
}
