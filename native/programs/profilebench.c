/*
 * profilebench: what a call costs, for integration/bench/profile.
 *
 *   profilebench calls N     rank 0 sends itself N messages of 8 bytes: nanoseconds of CPU each
 *   profilebench latency N   ranks 0 and 1 send each other N messages of 8 bytes in
 *                            turn: nanoseconds of half a round trip, in the fastest
 *                            of 200 batches, which others on the machine disturb least
 *   profilebench memory N    each rank sends each other one N messages by MPI_Isend:
 *                            the bytes that the counters of all ranks on the node take
 *
 * threads as a third word asks for MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { BATCHES = 200 };

/* cpu is the time that this thread has run, which others on the machine do not add to. */
static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double calls(long n)
{
	MPI_Request request;
	double value = 0, in = 0, begin = cpu();

	for (long i = 0; i < n; i++) {
		MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
		MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return (cpu() - begin) / (double)n * 1e9;
}

static double latency(long n, int rank)
{
	double value = 0, best = 0;

	MPI_Barrier(MPI_COMM_WORLD);
	for (int batch = 0; batch < BATCHES; batch++) {
		double begin = MPI_Wtime(), each;

		for (long i = 0; i < n; i++) {
			if (rank == 0)
				MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(&value, 1, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
		}
		each = (MPI_Wtime() - begin) / (double)n * 1e9 / 2;
		if (batch == 0 || each < best)
			best = each;
	}
	return best;
}

static void alltoall(long n, int size)
{
	MPI_Request *requests = malloc(2 * (size_t)size * sizeof(MPI_Request));
	MPI_Status *statuses = malloc(2 * (size_t)size * sizeof(MPI_Status));
	double value = 0, *in = malloc((size_t)size * sizeof(double));

	for (long i = 0; i < n; i++) {
		for (int to = 0; to < size; to++) {
			MPI_Irecv(&in[to], 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD, &requests[2 * to]);
			MPI_Isend(&value, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD, &requests[2 * to + 1]);
		}
		MPI_Waitall(2 * size, requests, statuses);
	}
	free(requests);
	free(statuses);
	free(in);
}

/* counters is the memory that the counters of this node's ranks take, in bytes. */
static double counters(void)
{
	const char *where = getenv("GOLAUNCH_COUNTERS");
	char path[128] = "";
	struct stat file;

	if (!where || sscanf(where, "%127s", path) != 1 || stat(path, &file))
		return -1;
	return (double)file.st_blocks * 512;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	int rank, size, level, threads = argc > 3 && !strcmp(argv[3], "threads");

	MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3 || n < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (!strcmp(argv[1], "memory")) {
		alltoall(n, size);
		alltoall(1, size); /* all have been through the first */
		if (rank == 0)
			printf("%.0f\n", counters());
	} else if (!strcmp(argv[1], "latency")) {
		double t = rank < 2 ? latency(n, rank) : 0;
		if (rank == 0)
			printf("%.2f\n", t);
	} else if (rank == 0) {
		calls(n / 10);
		printf("%.2f\n", calls(n));
	}
	MPI_Finalize();
	return 0;
}
