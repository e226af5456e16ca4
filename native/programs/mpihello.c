/*
 * mpihello: initialises MPI, says "rank R of N on HOST", finalizes. It sends
 * nothing, so it measures what a launcher and MPI_Init cost. With -t it says
 * "rank R ready T" instead, T the end of MPI_Init in nanoseconds of the machine's
 * monotonic clock.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	int rank, size, len;
	struct timespec t;

	MPI_Init(&argc, &argv);
	clock_gettime(CLOCK_MONOTONIC, &t);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Get_processor_name(host, &len);
	if (argc > 1 && strcmp(argv[1], "-t") == 0)
		printf("rank %d ready %lld\n", rank, t.tv_sec * 1000000000LL + t.tv_nsec);
	else
		printf("rank %d of %d on %s\n", rank, size, host);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
