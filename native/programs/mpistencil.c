/*
 * mpistencil: faces exchanged by the ranks of an open grid of three dimensions, the
 * last fastest, as MPI_Cart_create numbers them.
 *
 *   mpistencil X Y Z BYTES ROUNDS
 *
 * Rank 0 prints "ready" and waits for a line on its standard input; then come the
 * rounds. It prints the seconds that they took on the slowest rank, and waits for
 * another line, so that who started it may read counters before and after.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACES = 6 };

/* told prints a word, and a number unless it is negative, and waits for a line. */
static void told(int rank, const char *word, double number)
{
	if (rank == 0) {
		char line[16];

		if (number < 0)
			printf("%s\n", word);
		else
			printf("%s %.6f\n", word, number);
		fflush(stdout);
		if (fgets(line, sizeof line, stdin) == NULL)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size, dims[3], at[3], with[FACES], faces = 0;
	char *out[FACES], *in[FACES];
	MPI_Request requests[2 * FACES];
	MPI_Status statuses[2 * FACES];
	double seconds = 0, most;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int d = 0; d < 3; d++)
		dims[d] = argc == 6 ? atoi(argv[1 + d]) : 0;
	int bytes = argc == 6 ? atoi(argv[4]) : 0, rounds = argc == 6 ? atoi(argv[5]) : 0;
	if (dims[0] < 1 || dims[1] < 1 || dims[2] < 1 || dims[0] * dims[1] * dims[2] != size || bytes < 1 || rounds < 1) {
		if (rank == 0)
			fprintf(stderr, "usage: mpistencil X Y Z BYTES ROUNDS, by X*Y*Z ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	at[0] = rank / (dims[1] * dims[2]);
	at[1] = rank / dims[2] % dims[1];
	at[2] = rank % dims[2];
	for (int d = 0, stride = size; d < 3; d++) {
		stride /= dims[d];
		if (at[d] > 0)
			with[faces++] = rank - stride;
		if (at[d] < dims[d] - 1)
			with[faces++] = rank + stride;
	}
	for (int f = 0; f < faces; f++) {
		out[f] = calloc(1, bytes);
		in[f] = malloc(bytes);
		if (out[f] == NULL || in[f] == NULL)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	for (int round = -1; round < rounds; round++) { /* the first connects, and counts not */
		if (round == 0) {
			told(rank, "ready", -1);
			seconds = MPI_Wtime();
		}
		for (int f = 0; f < faces; f++) {
			MPI_Irecv(in[f], bytes, MPI_BYTE, with[f], 0, MPI_COMM_WORLD, &requests[2 * f]);
			MPI_Isend(out[f], bytes, MPI_BYTE, with[f], 0, MPI_COMM_WORLD, &requests[2 * f + 1]);
		}
		MPI_Waitall(2 * faces, requests, statuses);
	}
	seconds = MPI_Wtime() - seconds;
	MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	told(rank, "seconds", most);
	MPI_Finalize();
	return 0;
}
