/*
 * mpitree: a program that uses MPI and the tree of golaunch at once, as an
 * example and a test. Every sum is made both ways, and in between each rank puts
 * a key that another finds.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "golaunch.h"

static void must(int rank, const char *what, int ok)
{
	if (!ok) {
		fprintf(stderr, "mpitree: rank %d: %s: %s\n", rank, what, golaunch_error());
		exit(1);
	}
}

int main(int argc, char **argv)
{
	golaunch_job *job = golaunch_open(); /* before MPI speaks to its launcher */
	golaunch_comm *world;
	int rank, size;

	must(-1, "open", job != NULL);
	world = golaunch_world(job);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(rank, "rank and size", rank == golaunch_rank(world) && size == golaunch_size(world));
	for (int64_t i = 0; i < 20; i++) {
		int64_t mine = rank * i, ours = 0, theirs = 0;
		char key[32], *value;
		size_t n;

		MPI_Allreduce(&mine, &theirs, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
		must(rank, "allreduce", golaunch_allreduce(world, GOLAUNCH_INT64, GOLAUNCH_SUM, &mine, &ours, sizeof ours) == 0);
		must(rank, "two sums that agree", ours == theirs);
		snprintf(key, sizeof key, "mpitree-%d-%d", (int)i, rank);
		must(rank, "put", golaunch_put(job, key, &mine, sizeof mine) == 0);
		must(rank, "fence", golaunch_fence(job) == 0);
		snprintf(key, sizeof key, "mpitree-%d-%d", (int)i, (rank + 1) % size);
		must(rank, "get", golaunch_get(job, key, &value, &n) == 0 && value && n == sizeof mine);
		free(value);
	}
	MPI_Finalize();
	must(rank, "barrier", golaunch_barrier(world) == 0);
	if (rank == 0)
		printf("MPI and the tree agree on %d ranks\n", size);
	golaunch_close(job);
	return 0;
}
