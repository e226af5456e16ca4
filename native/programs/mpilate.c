/*
 * mpilate [SECONDS [COMMAND]]: the smallest program that hangs in MPI_Finalize
 * under MPICH 3.4 ... 4.1 with ch4:ucx. Each rank of the upper half sends to one of
 * the lower half, which then finishes; the senders follow SECONDS later (1). Where
 * the halves are on different nodes, nobody answers them any more.
 *
 * Every rank prints "rank R done" after MPI_Finalize, and before it what LD_PRELOAD
 * is for its children. Rank 0 then executes COMMAND by the shell.
 *
 * Built with -DOPENED it links no MPI library: it opens that at run time, for itself
 * alone, as interpreters do.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef OPENED
#include <dlfcn.h>
static void *library;
#define MPI_Init(...) ((int (*)(int *, char ***))dlsym(library, "MPI_Init"))(__VA_ARGS__)
#define MPI_Comm_rank(...) ((int (*)(MPI_Comm, int *))dlsym(library, "MPI_Comm_rank"))(__VA_ARGS__)
#define MPI_Comm_size(...) ((int (*)(MPI_Comm, int *))dlsym(library, "MPI_Comm_size"))(__VA_ARGS__)
#define MPI_Send(...) ((int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm))dlsym(library, "MPI_Send"))(__VA_ARGS__)
#define MPI_Recv(...) ((int (*)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *))dlsym(library, "MPI_Recv"))(__VA_ARGS__)
#define MPI_Finalize() ((int (*)(void))dlsym(library, "MPI_Finalize"))()
#endif

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? atoi(argv[1]) : 1;
	const char *preload;
	int rank, size, half, n = 0;

#ifdef OPENED
	library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "mpilate: %s\n", dlerror());
		return 1;
	}
#endif
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	half = size / 2;
	if (rank < half) {
		MPI_Recv(&n, 1, MPI_INT, half + rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank < 2 * half) {
		MPI_Send(&rank, 1, MPI_INT, rank - half, 0, MPI_COMM_WORLD);
		sleep(seconds);
	}
	preload = getenv("LD_PRELOAD");
	printf("rank %d: LD_PRELOAD=%s\n", rank, preload ? preload : "");
	fflush(stdout);
	MPI_Finalize();
	printf("rank %d done\n", rank);
	fflush(stdout);
	if (rank == 0 && argc > 2)
		return system(argv[2]) != 0;
	return 0;
}
