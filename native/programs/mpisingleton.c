/*
 * mpisingleton: an MPI program to be started without a launcher. It asks for
 * what only a process manager has, so that its library starts one ("mpiexec"
 * along PATH): the size of the universe, which it prints if it has an argument,
 * and a name to publish and look up.
 *
 * Prints "rank 0 of 1 found PORT" and exits 0, or says on stderr what failed and
 * exits 1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char *what, int rc)
{
	if (rc == MPI_SUCCESS)
		return;
	fprintf(stderr, "mpisingleton: %s failed with %d\n", what, rc);
	exit(1);
}

int main(int argc, char **argv)
{
	char port[MPI_MAX_PORT_NAME];
	int rank, size, *universe, flag;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must("the universe", MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag));
	must("publish", MPI_Publish_name("service", MPI_INFO_NULL, "a-port"));
	must("look up", MPI_Lookup_name("service", MPI_INFO_NULL, port));
	must("unpublish", MPI_Unpublish_name("service", MPI_INFO_NULL, "a-port"));
	if (MPI_Lookup_name("service", MPI_INFO_NULL, port) == MPI_SUCCESS)
		must("withdrawing", MPI_ERR_OTHER);
	printf("rank %d of %d found %s\n", rank, size, port);
	if (argc > 1)
		printf("the universe has %d\n", flag ? *universe : -1);
	MPI_Finalize();
	return 0;
}
