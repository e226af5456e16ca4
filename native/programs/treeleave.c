/*
 * treeleave: the last rank leaves the tree while the others wait for it. They
 * print what they learn, and do an operation among themselves.
 *
 *   treeleave barrier|recv|fence WAY
 *   treeleave data exit
 *
 * With data, the last rank sends the others more than its socket holds before it
 * ends, without a goodbye: they print how much they got. With fence, they wait for
 * it in a fence, and enter another one after that.
 *
 * WAY is how it leaves: it says so (close), ends (exit), is killed (kill), never
 * comes (never), says so while it uses PMI, enters a fence by that and finalises
 * (pmi), or closes its socket and lives on (silent) until rank 0, on the same node,
 * ends. Or it does not leave: it never joins (absent), does nothing (stays), or waits
 * for a message of rank 0 (waits).
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

/* pmi says a line, and waits for the answer to it. */
static void pmi(const char *line)
{
	int fd = atoi(getenv("PMI_FD"));
	char c = 0;

	must(write(fd, line, strlen(line)) != (ssize_t)strlen(line));
	while (c != '\n')
		must(read(fd, &c, 1) != 1);
}

/* close_sockets closes everything but the standard descriptors. */
static void close_sockets(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
}

enum { PIECE = 64 << 10, PIECES = 15 };

/* data has the last rank send all it can send before a barrier is due. */
static void data(golaunch_comm *world, int rank, int last)
{
	char *buf = malloc(PIECE);
	int got = 0;

	for (int i = 0; i < PIECES; i++)
		got += golaunch_bcast(world, last, memset(buf, i, PIECE), PIECE) == 0;
	if (rank != last)
		printf("rank %d: %d of %d\n", rank, got, PIECES);
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
	if (rank == last && !strcmp(way, "absent"))
		pause();
	job = golaunch_open();
	must(!job);
	world = golaunch_world(job);
	if (!strcmp(what, "data")) {
		data(world, rank, last);
		return 0;
	}
	if (strcmp(way, "never") && strcmp(way, "absent")) {
		must(golaunch_bcast(world, 0, &first, sizeof first));
		must(golaunch_bcast(world, last, &c, 1)); /* the last one has done its part of this at once */
	}
	if (rank == last) {
		if (!strcmp(way, "pmi"))
			pmi("cmd=init pmi_version=1 pmi_subversion=1\n");
		if (!strcmp(way, "close") || !strcmp(way, "pmi"))
			golaunch_close(job);
		if (!strcmp(way, "pmi")) {
			pmi("cmd=barrier_in\n");
			pmi("cmd=finalize\n");
		}
		if (!strcmp(way, "stays"))
			pause();
		if (!strcmp(way, "waits"))
			must(golaunch_recv(world, 0, 1, &c, 1, NULL));
		if (!strcmp(way, "kill"))
			raise(SIGKILL);
		if (!strcmp(way, "silent")) {
			close_sockets();
			while (kill(first, 0) == 0) /* on this node */
				usleep(10000);
		}
		return 0;
	}
	if (!strcmp(what, "fence"))
		rc = golaunch_fence(job);
	else
		rc = strcmp(what, "recv") ? golaunch_barrier(world) : golaunch_recv(world, last, 1, &c, 1, NULL);
	printf("rank %d: %s\n", rank, rc ? golaunch_error() : "no error");
	if (!strcmp(what, "fence")) {
		rc = golaunch_fence(job); /* now it is known */
		printf("rank %d again: %s\n", rank, rc ? golaunch_error() : "no error");
	}
	ranks = malloc(sizeof *ranks * (size_t)size);
	for (int i = 0; i < last; i++)
		ranks[i] = i;
	others = golaunch_sub(job, ranks, last);
	must(!others || golaunch_barrier(others));
	free(ranks);
	golaunch_close(job);
	return 0;
}
