/*
 * mpisum: the smallest MPI program that proves its ranks are connected. Every
 * rank adds up rank+1 over all ranks and checks the sum. The first rank of each
 * node prints "rank R of N on HOST: sum S ok"; with -a every rank does, with -w
 * they wait for the end of standard input before MPI_Finalize, with -c every rank
 * prints the kernel's line about its CPUs instead. Exits 1 if the sum is wrong.
 *
 * Which rank is a node's first is taken from MPI_LOCALRANKID, where the
 * launcher sets it, so that nothing but the sum goes over the network.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the CPUs on which the kernel lets this process run. */
static void print_cpus(int rank)
{
	char line[4096];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "Cpus_allowed_list:", 18) == 0)
			printf("rank %d %s", rank, line);
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	const char *local = getenv("MPI_LOCALRANKID");
	char host[MPI_MAX_PROCESSOR_NAME];
	long long mine, sum = 0, want;
	int rank, size, len, all, ok;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Get_processor_name(host, &len);
	all = argc > 1 && strcmp(argv[1], "-a") == 0;

	mine = rank + 1;
	want = (long long)size * (size + 1) / 2;
	MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
	ok = sum == want;
	if (!ok)
		fprintf(stderr, "rank %d of %d on %s: sum %lld, expected %lld\n", rank, size, host, sum, want);
	else if (argc > 1 && strcmp(argv[1], "-c") == 0)
		print_cpus(rank);
	else if (all || !local || strcmp(local, "0") == 0)
		printf("rank %d of %d on %s: sum %lld ok\n", rank, size, host, sum);
	fflush(stdout);
	while (argc > 1 && strcmp(argv[1], "-w") == 0 && getchar() != EOF)
		;
	MPI_Finalize();
	return ok ? 0 : 1;
}
