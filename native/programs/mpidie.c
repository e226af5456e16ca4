// mpidie RANK HOW: every rank passes messages around a ring; after a while rank
// RANK ends by itself: HOW is "exit" (with code 3, without MPI_Finalize),
// "kill" or "segv" (by that signal). "late" is an exit with code 3 after
// MPI_Finalize, of a program whose other ranks end well. With "collective" the ranks
// add up numbers instead, and RANK exits with code 9 while the others wait for it. With
// "never" they say "rank R stays" and pass messages, as often as ten times a second, for
// as long as they are let.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(const char *how)
{
	if (!strcmp(how, "exit"))
		_exit(3);
	raise(!strcmp(how, "kill") ? SIGKILL : SIGSEGV);
}

// stay leaves the processor to others while it waits: there may be many ranks of it.
static void stay(int rank, int size)
{
	for (int round = 0;; round++) {
		int got, sent = 0, received = 0;
		MPI_Request out, in;
		MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &in);
		MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &out);
		while (MPI_Test(&in, &received, MPI_STATUS_IGNORE), MPI_Test(&out, &sent, MPI_STATUS_IGNORE), !received || !sent)
			usleep(20000);
		if (round == 0) {
			printf("rank %d stays\n", rank);
			fflush(stdout);
		}
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3) {
		fprintf(stderr, "usage: mpidie RANK exit|kill|segv|late|collective|never\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (!strcmp(argv[2], "never"))
		stay(rank, size);
	int mine = rank == atoi(argv[1]), late = !strcmp(argv[2], "late");
	for (int round = 0; !strcmp(argv[2], "collective"); round++) {
		int sum;
		if (mine && round == 100)
			_exit(9);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	for (int round = 0; !late || round < 100; round++) {
		if (mine && !late && round == 100)
			end(argv[2]);
		int got;
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	if (mine)
		return 3;
	sleep(1); // the others go on
	printf("rank %d is through\n", rank);
	return 0;
}
