/*
 * treeroom: ranks of libgolaunch whose sockets have room at every other attempt
 * only, as where an agent reads slowly and then all at once. They do each operation
 * once and check what came; rank 0 says when all have.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "golaunch.h"

/* send replaces the C library's, for libgolaunch, too. */
ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	static int refused;

	refused = !refused;
	if (refused) {
		errno = EAGAIN;
		return -1;
	}
	return sendto(fd, buf, n, flags, NULL, 0);
}

enum { SIZE = 200000 }; /* bytes: they are asked for, piece by piece */

static int rank, size;

static void must(const char *op, int failed)
{
	if (failed) {
		fprintf(stderr, "treeroom: rank %d: %s: %s\n", rank, op, golaunch_error());
		exit(1);
	}
}

/* check has parts of SIZE bytes be those of ranks from first on. */
static void check(const char *op, const unsigned char *got, int first, int parts)
{
	for (int i = 0; i < parts; i++)
		for (int j = 0; j < SIZE; j++)
			if (got[i * SIZE + j] != first + i) {
				fprintf(stderr, "treeroom: rank %d: %s: byte %d of part %d is %d\n", rank, op, j, i, got[i * SIZE + j]);
				exit(1);
			}
}

int main(void)
{
	golaunch_job *job = golaunch_open();
	golaunch_comm *world;
	golaunch_request *q;
	unsigned char *mine, *parts, *got;
	int next, last;

	must("open", !job);
	world = golaunch_world(job);
	rank = golaunch_rank(world);
	size = golaunch_size(world);
	next = (rank + 1) % size;
	last = (rank + size - 1) % size;
	mine = malloc(SIZE);
	parts = malloc((size_t)size * SIZE);
	got = malloc((size_t)size * SIZE);
	must("malloc", !mine || !parts || !got);
	memset(mine, rank, SIZE);

	must("gather", golaunch_gather(world, 0, mine, got, SIZE));
	if (rank == 0)
		check("gather", got, 0, size);
	for (int i = 0; i < size; i++)
		memset(parts + i * SIZE, i, SIZE);
	must("scatter", golaunch_scatter(world, 0, parts, got, SIZE));
	check("scatter", got, rank, 1);
	for (int i = 0; i < size; i++)
		memset(parts + i * SIZE, rank, SIZE);
	must("alltoall", golaunch_alltoall(world, parts, got, SIZE));
	check("alltoall", got, 0, size);
	must("allgather", golaunch_allgather(world, mine, got, SIZE));
	check("allgather", got, 0, size);
	memset(got, rank, SIZE);
	must("bcast", golaunch_bcast(world, 0, got, SIZE));
	check("bcast", got, 0, 1);
	must("reduce", golaunch_reduce(world, 0, GOLAUNCH_UINT8, GOLAUNCH_MAX, mine, got, SIZE));
	if (rank == 0)
		check("reduce", got, size - 1, 1);
	must("allreduce", golaunch_allreduce(world, GOLAUNCH_UINT8, GOLAUNCH_MAX, mine, got, SIZE));
	check("allreduce", got, size - 1, 1);
	q = golaunch_irecv(world, last, 1, got, SIZE);
	must("send", golaunch_send(world, next, 1, mine, SIZE));
	must("receive", golaunch_wait(&q));
	check("receive", got, last, 1);
	must("barrier", golaunch_barrier(world));
	if (rank == 0)
		printf("%d ranks: ok\n", size);
	golaunch_close(job);
	return 0;
}
