/*
 * treebreak breaks the protocol between a rank and its agent, in the way that its
 * argument names. Rank 0 does; the others wait in a barrier.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "internal.h"

static golaunch_job *job;

static void say(const struct record *r) { golaunch__put(&job->out, r); }

/* bad expects a call to fail, and nothing else. */
static void bad(const char *what, int failed)
{
	if (!failed) {
		fprintf(stderr, "%s: went well\n", what);
		exit(1);
	}
	printf("%s: %s\n", what, golaunch_error());
}

static void bad_arguments(golaunch_comm *w)
{
	int ranks[] = {-1}, many[] = {golaunch_size(w)};
	char *key = malloc(300000), *value;
	size_t size, huge = (size_t)1 << 62;

	memset(key, 'k', 299999);
	key[299999] = 0;
	bad("bcast", golaunch_bcast(w, 0, NULL, huge));
	bad("alltoall", golaunch_alltoall(w, NULL, NULL, huge));
	bad("send", golaunch_send(w, 0, 0, NULL, huge));
	bad("recv", golaunch_recv(w, 0, 0, NULL, huge, NULL));
	bad("sub of -1", !golaunch_sub(job, ranks, 1));
	bad("sub of too many", !golaunch_sub(job, many, 1));
	bad("get", golaunch_get(job, key, &value, &size));
	free(key);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	golaunch_comm *w;

	if (!strcmp(way, "empty call"))
		send(atoi(getenv("GOLAUNCH_FD")), "", 0, 0);
	job = golaunch_open();
	if (!job) {
		fprintf(stderr, "open: %s\n", golaunch_error());
		return 1;
	}
	w = golaunch_world(job);
	if (!strcmp(way, "arguments"))
		bad_arguments(w);
	if (golaunch_rank(w) == 0 && !strcmp(way, "fences")) {
		say(&(struct record){.kind = FENCE, .seq = 1});
		say(&(struct record){.kind = FENCE, .seq = 2});
	}
	if (golaunch_rank(w) == 0 && !strcmp(way, "barrier and fence")) {
		dprintf(atoi(getenv("PMI_FD")), "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in\n");
		say(&(struct record){.kind = FENCE, .seq = 1});
	}
	if (golaunch_rank(w) == 0 && !strcmp(way, "calls"))
		for (int i = 0; i < 1000; i++)
			send(atoi(getenv("GOLAUNCH_FD")), "nonsense", 8, 0);
	if (golaunch_barrier(w))
		return 1;
	golaunch_close(job);
	return 0;
}
