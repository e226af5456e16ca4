/*
 * mpispawn: an MPI program whose spawns are refused, or whose worlds part, for
 * tests.
 *
 *   mpispawn refused PROGRAM PROCS   all ranks together spawn what cannot be
 *   mpispawn alone PROGRAM           rank 0 does, and ignores error codes
 *   mpispawn parts                   worlds part; the spawned one then fails
 *   mpispawn leaves                  worlds part; the spawning one then fails
 *
 * refused and alone print "rank R: refused" for each rank that is told; then all
 * ranks meet in a barrier. parts and leaves take one rank: both worlds
 * disconnect, one finalizes and exits with code 3, and the other, when that
 * process is gone, spawns once more and prints "goes on".
 */
#include <mpi.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILED = 3 };

/* told spawns PROGRAM and says whether the rank learns that it cannot be. */
static void told(const char *program, int procs, MPI_Comm comm, int *codes)
{
	MPI_Comm children;
	int rank, bad, rc;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	rc = MPI_Comm_spawn(program, MPI_ARGV_NULL, procs, MPI_INFO_NULL, 0, comm, &children, codes);
	bad = rc != MPI_SUCCESS;
	for (int i = 0; codes && i < procs; i++)
		bad |= codes[i] != 0;
	printf("rank %d: %s\n", rank, bad ? "refused" : "not refused");
	fflush(stdout);
}

/* start spawns this program with one argument, in a world of one. */
static MPI_Comm start(char *self, char *argument)
{
	char *args[] = {argument, NULL};
	MPI_Comm child;

	MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
	return child;
}

/* part exchanges process ids with the other world and disconnects from it. */
static pid_t part(MPI_Comm *other)
{
	long mine = getpid(), its = 0;

	MPI_Sendrecv(&mine, 1, MPI_LONG, 0, 0, &its, 1, MPI_LONG, 0, 0, *other, MPI_STATUS_IGNORE);
	MPI_Comm_disconnect(other);
	return (pid_t)its;
}

/* outlive waits for the end of a process, and shows that this world goes on. */
static void outlive(pid_t pid, char *self)
{
	MPI_Comm child;

	while (kill(pid, 0) == 0 || errno != ESRCH)
		usleep(1000);
	child = start(self, "guest");
	part(&child);
	printf("goes on\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank, code = 0;
	MPI_Comm other;
	pid_t pid;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&other);
	if (strcmp(what, "refused") == 0 && argc == 4) {
		int procs = atoi(argv[3]), *codes = calloc((size_t)procs + 1, sizeof *codes);

		told(argv[2], procs, MPI_COMM_WORLD, codes);
		free(codes);
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (strcmp(what, "alone") == 0 && argc == 3) {
		if (rank == 0)
			told(argv[2], 1, MPI_COMM_SELF, MPI_ERRCODES_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (strcmp(what, "parts") == 0 || strcmp(what, "leaves") == 0) {
		int fails = strcmp(what, "leaves") == 0;

		other = start(argv[0], fails ? "outlives" : "fails");
		pid = part(&other);
		code = fails ? FAILED : 0;
		if (!fails)
			outlive(pid, argv[0]);
	} else if (other != MPI_COMM_NULL) {
		pid = part(&other);
		code = strcmp(what, "fails") == 0 ? FAILED : 0;
		if (strcmp(what, "outlives") == 0)
			outlive(pid, argv[0]);
	} else {
		fprintf(stderr, "usage: mpispawn refused PROGRAM PROCS | alone PROGRAM | parts | leaves\n");
		code = 2;
	}
	MPI_Finalize();
	return code;
}
