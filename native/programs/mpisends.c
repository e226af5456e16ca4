/*
 * mpisends: sends in each of many ways what it knows, and prints it: lines
 * "RANK sent DESTINATION MESSAGES BYTES", for tests of the profiler.
 *
 *   mpisends [once | threads | switched | killed | signalled]
 *
 * threads: four threads of each rank send at the same time. switched: half of it is
 * sent while MPI_Pcontrol has ended the counting. killed: rank 1 kills itself, with
 * the others in a barrier. signalled: half of it is sent before rank 0 says "ready"
 * on standard error and reads a line, and does not count.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SENDERS = 4, EACH = 200 };

static int rank, size;
static long *messages, *bytes; /* to each rank of the world */
static long *got_messages, *got_bytes;
static int told = 1; /* messages from now on are to be counted */

static void sent(int to, long n)
{
	messages[to] += told;
	bytes[to] += told * n;
}

static void got(int from, long n)
{
	got_messages[from] += told;
	got_bytes[from] += told * n;
}

/* messages by each call, around a communicator, whose ranks are those of the world
 * that world has. */
static void point_to_point(MPI_Comm comm, const int *world)
{
	int me, n, right, left;
	char out[4096], in[4096];
	MPI_Request requests[2];
	MPI_Status status, both[2];

	memset(out, 1, sizeof out);
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	right = (me + 1) % n;
	left = (me + n - 1) % n;

	MPI_Irecv(in, sizeof in, MPI_CHAR, left, 1, comm, &requests[0]);
	MPI_Send(out, 100, MPI_CHAR, right, 1, comm);
	sent(world[right], 100);
	MPI_Wait(&requests[0], &status);

	MPI_Irecv(in, sizeof in, MPI_CHAR, left, 2, comm, &requests[0]);
	MPI_Isend(out, 7, MPI_DOUBLE, right, 2, comm, &requests[1]);
	sent(world[right], 7 * (long)sizeof(double));
	MPI_Waitall(2, requests, both);

	MPI_Irecv(in, sizeof in, MPI_CHAR, left, 3, comm, &requests[0]);
	MPI_Issend(out, 3, MPI_SHORT, right, 3, comm, &requests[1]);
	sent(world[right], 3 * (long)sizeof(short));
	MPI_Waitall(2, requests, both);

	MPI_Sendrecv(out, 11, MPI_INT, left, 4, in, 11, MPI_INT, right, 4, comm, &status);
	sent(world[left], 11 * (long)sizeof(int));
	MPI_Sendrecv_replace(out, 5, MPI_INT, right, 5, left, 5, comm, &status);
	sent(world[right], 5 * (long)sizeof(int));
	MPI_Send(out, 9, MPI_CHAR, MPI_PROC_NULL, 6, comm);

	MPI_Recv_init(in, 64, MPI_CHAR, left, 7, comm, &requests[0]);
	MPI_Send_init(out, 64, MPI_CHAR, right, 7, comm, &requests[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, both);
		sent(world[right], 64);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

/* derived is a vector of 3 pairs of int, with gaps, to the first rank. */
static void derived(void)
{
	MPI_Datatype pairs;
	MPI_Request request;
	int out[16] = {0}, in[16];

	MPI_Type_vector(3, 2, 4, MPI_INT, &pairs);
	MPI_Type_commit(&pairs);
	MPI_Irecv(in, 16, MPI_INT, (rank + size - 1) % size, 8, MPI_COMM_WORLD, &request);
	MPI_Send(out, 1, pairs, (rank + 1) % size, 8, MPI_COMM_WORLD);
	sent((rank + 1) % size, 6 * (long)sizeof(int));
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Type_free(&pairs);
}

/* one_sided puts, gets and accumulates in a window of the ranks of a communicator. */
static void one_sided(MPI_Comm comm, const int *world)
{
	int me, n;
	double *base, value[8] = {0};
	MPI_Win win;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &n);
	MPI_Win_allocate(64 * sizeof(double), sizeof(double), MPI_INFO_NULL, comm, &base, &win);
	MPI_Win_fence(0, win);
	MPI_Put(value, 8, MPI_DOUBLE, (me + 1) % n, 0, 8, MPI_DOUBLE, win);
	sent(world[(me + 1) % n], 8 * (long)sizeof(double));
	MPI_Get(value, 4, MPI_DOUBLE, (me + 2) % n, 8, 4, MPI_DOUBLE, win);
	got(world[(me + 2) % n], 4 * (long)sizeof(double));
	MPI_Win_fence(0, win);
	MPI_Accumulate(value, 2, MPI_DOUBLE, (me + 1) % n, 16, 2, MPI_DOUBLE, MPI_SUM, win);
	sent(world[(me + 1) % n], 2 * (long)sizeof(double));
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
}

/* parts calls the collective operations whose caller gives each part's length. */
static void parts(void)
{
	int *n = calloc(4 * (size_t)size, sizeof *n), *at = n + size, *n_in = n + 2 * size, *at_in = n + 3 * size, all = 0, all_in = 0;
	int dims[1] = {size}, periods[1] = {1};
	char *out, *in;
	MPI_Comm ring;

	for (int i = 0; i < size; i++) {
		n[i] = rank == i ? 0 : 10 * rank + i;
		n_in[i] = rank == i ? 0 : 10 * i + rank;
		at[i] = all, at_in[i] = all_in;
		all += n[i], all_in += n_in[i];
		if (n[i])
			sent(i, n[i]);
	}
	out = calloc(1, (size_t)all + 1024), in = calloc(1, (size_t)all_in + 1024);
	MPI_Alltoallv(out, n, at, MPI_CHAR, in, n_in, at_in, MPI_CHAR, MPI_COMM_WORLD);
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
	MPI_Neighbor_alltoall(out, 32, MPI_CHAR, in, 32, MPI_CHAR, ring);
	sent((rank + size - 1) % size, 32);
	sent((rank + 1) % size, 32);
	MPI_Comm_free(&ring);
	free(n), free(out), free(in);
}

/* others are operations that are counted as calls. */
static void others(void)
{
	double value[16] = {0}, sum[16];

	for (int i = 0; i < 5; i++)
		MPI_Allreduce(value, sum, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Bcast(value, 16, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void *sender(void *tag)
{
	char c = 0;
	MPI_Request request;

	for (int i = 0; i < EACH; i++) {
		MPI_Irecv(&c, 1, MPI_CHAR, (rank + size - 1) % size, *(int *)tag, MPI_COMM_WORLD, &request);
		MPI_Send(&c, 1, MPI_CHAR, (rank + 1) % size, *(int *)tag, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[SENDERS];
	int tag[SENDERS];

	for (int i = 0; i < SENDERS; i++) {
		tag[i] = 100 + i;
		pthread_create(&thread[i], NULL, sender, &tag[i]);
	}
	for (int i = 0; i < SENDERS; i++) {
		pthread_join(thread[i], NULL);
		messages[(rank + 1) % size] += EACH;
		bytes[(rank + 1) % size] += EACH;
	}
}

static void everything(void)
{
	int *world = malloc(sizeof *world * (size_t)size), *backward = malloc(sizeof *backward * (size_t)size);
	int *even = malloc(sizeof *even * (size_t)size);
	MPI_Comm reversed, half;

	for (int i = 0; i < size; i++)
		world[i] = i, backward[i] = size - 1 - i, even[i] = 2 * i + rank % 2;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	point_to_point(MPI_COMM_WORLD, world);
	point_to_point(reversed, backward);
	point_to_point(half, even);
	derived();
	one_sided(reversed, backward);
	parts();
	others();
	MPI_Comm_free(&reversed);
	MPI_Comm_free(&half);
	free(world), free(backward), free(even);
}

/* ask has rank 0 wait for a line, and all for it. */
static void ask(void)
{
	char line[16];

	if (rank == 0) {
		fprintf(stderr, "ready\n");
		if (!fgets(line, sizeof line, stdin))
			exit(1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "once";
	int level;

	MPI_Init_thread(&argc, &argv, strcmp(how, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	messages = calloc(4 * (size_t)size, sizeof *messages);
	bytes = messages + size, got_messages = messages + 2 * size, got_bytes = messages + 3 * size;
	if (!strcmp(how, "threads")) {
		if (level != MPI_THREAD_MULTIPLE)
			return 1;
		threads();
	} else {
		told = strcmp(how, "signalled") != 0;
		everything();
	}
	if (!strcmp(how, "signalled")) {
		ask();
		told = 1;
		everything();
	}
	if (!strcmp(how, "switched")) {
		MPI_Pcontrol(0);
		told = 0;
		everything();
		MPI_Pcontrol(1);
		told = 1;
		everything();
	}
	for (int i = 0; i < size; i++) {
		if (messages[i])
			printf("%d sent %d %ld %ld\n", rank, i, messages[i], bytes[i]);
		if (got_messages[i])
			printf("%d sent %d %ld %ld\n", i, rank, got_messages[i], got_bytes[i]);
	}
	fflush(stdout);
	if (!strcmp(how, "killed")) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 1)
			raise(SIGKILL);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
