/*
 * mpifree [SECONDS]: each rank of the upper half begins to send 8 MB to one of the
 * lower half, frees the request and enters MPI_Finalize; the receivers follow
 * SECONDS later (1). The messages then end in MPI_Finalize, where MPICH releases
 * their requests from within the progress of UCX. Every rank asks for
 * MPI_THREAD_MULTIPLE and prints "rank R done" after MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LENGTH = 8 << 20 };

static char message[LENGTH];

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? atoi(argv[1]) : 1;
	int rank, size, half, provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	half = size / 2;
	if (rank < half) {
		sleep(seconds);
		MPI_Recv(message, LENGTH, MPI_CHAR, half + rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank < 2 * half) {
		MPI_Request request;

		MPI_Isend(message, LENGTH, MPI_CHAR, rank - half, 0, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
	}
	MPI_Finalize();
	printf("rank %d done\n", rank);
	fflush(stdout);
	return 0;
}
