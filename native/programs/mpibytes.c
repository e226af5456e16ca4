/*
 * mpibytes: rank 0 sends the last rank BYTES, a megabyte at a time, and hears that they
 * have come.
 *
 *   mpibytes BYTES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1000000 };

int main(int argc, char **argv)
{
	static char piece[PIECE];
	long left = argc > 1 ? atol(argv[1]) : 0, got = 0;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (; left > 0 && size > 1; left -= PIECE) {
		int n = left < PIECE ? (int)left : PIECE;

		if (rank == 0)
			MPI_Send(piece, n, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD);
		else if (rank == size - 1)
			MPI_Recv(piece, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		got += n;
	}
	if (rank == size - 1)
		MPI_Send(&got, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Recv(&got, 1, MPI_LONG, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("%ld bytes sent\n", got);
		fflush(stdout);
	}
	MPI_Finalize();
	return 0;
}
