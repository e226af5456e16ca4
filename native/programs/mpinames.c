/*
 * mpinames: MPI's name service, as one world sees it. The last rank publishes a
 * port; every rank looks it up, and compares it with what the last one says; once
 * it is unpublished, no rank finds it. Rank 0 prints "N ranks found the port";
 * whatever is wrong ends in MPI_Abort with 1. The port is made up: Debian's MPICH
 * (ch4:ucx) cannot open one.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "mpinames: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	char name[64], port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
	int rank, size, last;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	last = rank == size - 1;
	snprintf(name, sizeof name, "service of %d ranks", size);
	check(MPI_Lookup_name(name, MPI_INFO_NULL, found) != MPI_SUCCESS, "a name that nobody published is found");
	MPI_Barrier(MPI_COMM_WORLD);
	if (last) {
		snprintf(port, sizeof port, "tag#0$description#%d$", rank);
		check(MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "not published");
#ifdef MPICH /* Open MPI takes the second one */
		check(MPI_Publish_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS, "published twice");
#endif
	}
	MPI_Bcast(port, sizeof port, MPI_CHAR, size - 1, MPI_COMM_WORLD);
	check(MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS, "the name is not found");
	check(port[0] && strcmp(port, found) == 0, "another port is found");
	MPI_Barrier(MPI_COMM_WORLD);
	if (last)
		check(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "not unpublished");
	MPI_Barrier(MPI_COMM_WORLD);
	check(MPI_Lookup_name(name, MPI_INFO_NULL, found) != MPI_SUCCESS, "an unpublished name is found");
	if (rank == 0)
		printf("%d ranks found the port\n", size);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
