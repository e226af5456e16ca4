/*
 * mpiabort: one rank calls MPI_Abort while the others wait for it in a barrier.
 *
 *   mpiabort [RANK [CODE]]      by default the last rank, with code 7
 */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, who, code;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	who = argc > 1 ? atoi(argv[1]) : size - 1;
	code = argc > 2 ? atoi(argv[2]) : 7;
	if (rank == who)
		MPI_Abort(MPI_COMM_WORLD, code);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
