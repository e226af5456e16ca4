/*
 * mpihang WAY: a job that does not end. With "barrier" rank 1 never enters a barrier,
 * with "cycle" each rank receives from the next before it sends, with "compute" rank 1
 * computes for ever while all others are in MPI_Finalize.
 */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	volatile unsigned long count = 0;
	int rank, size, n = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(way, "barrier")) {
		while (rank == 1)
			pause();
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (!strcmp(way, "cycle")) {
		MPI_Recv(&n, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&n, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
	} else if (!strcmp(way, "compute")) {
		while (rank == 1)
			count++;
	}
	MPI_Finalize();
	return 0;
}
