/*
 * mpitool: a tool of others, as a test has it: it stands between a program and MPI,
 * and says at the end how often the program called MPI_Send.
 */
#include <mpi.h>
#include <stdio.h>

static long sends;

int MPI_Send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	sends++;
	return PMPI_Send(buf, n, type, to, tag, comm);
}

int MPI_Finalize(void)
{
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("%d tool %ld\n", rank, sends);
	fflush(stdout);
	return PMPI_Finalize();
}
