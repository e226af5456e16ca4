/*
 * treeleave: the last rank leaves the tree while the others wait for it. They
 * print what they learn, and do an operation among themselves.
 *
 *   treeleave barrier|recv WAY
 *
 * WAY is how it leaves: it says so (close), ends (exit), never comes (never), or
 * closes its socket and lives on (silent) until rank 0, on the same node, ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "golaunch.h"

static void must(int bad)
{
	if (bad) {
		fprintf(stderr, "treeleave: %s\n", golaunch_error());
		exit(1);
	}
}

/* close_sockets closes everything but the standard descriptors. */
static void close_sockets(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	int rank = atoi(getenv("PMI_RANK")), size = atoi(getenv("PMI_SIZE")), last = size - 1, rc, *ranks;
	const char *what = argc > 1 ? argv[1] : "barrier", *way = argc > 2 ? argv[2] : "close";
	golaunch_job *job;
	golaunch_comm *world, *others;
	pid_t first = getpid();
	char c;

	if (rank == last && !strcmp(way, "never"))
		return 0;
	job = golaunch_open();
	must(!job);
	world = golaunch_world(job);
	if (strcmp(way, "never")) {
		must(golaunch_bcast(world, 0, &first, sizeof first));
		must(golaunch_bcast(world, last, &c, 1)); /* the last one has done its part of this at once */
	}
	if (rank == last) {
		if (!strcmp(way, "close"))
			golaunch_close(job);
		if (!strcmp(way, "silent")) {
			close_sockets();
			while (kill(first, 0) == 0) /* on this node */
				usleep(10000);
		}
		return 0;
	}
	rc = strcmp(what, "recv") ? golaunch_barrier(world) : golaunch_recv(world, last, 1, &c, 1, NULL);
	printf("rank %d: %s\n", rank, rc ? golaunch_error() : "no error");
	ranks = malloc(sizeof *ranks * (size_t)size);
	for (int i = 0; i < last; i++)
		ranks[i] = i;
	others = golaunch_sub(job, ranks, last);
	must(!others || golaunch_barrier(others));
	free(ranks);
	golaunch_close(job);
	return 0;
}
