/*
 * treebreak breaks the protocol between a rank and its agent, in the way that its
 * argument names. Rank 0 does; the others wait in a barrier.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	char *key = malloc(300000), *value, byte;
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
	bad("put", golaunch_put(job, key, "", 0));
	bad("send with a negative tag", golaunch_send(w, 0, -1, NULL, 0));
	bad("recv with a tag below any", golaunch_recv(w, 0, -2, NULL, 0, NULL));
	bad("sum of half an element", golaunch_allreduce(w, GOLAUNCH_INT64 | GOLAUNCH_SUM, &byte, &byte, 1));
	bad("bits of doubles", golaunch_scan(w, GOLAUNCH_DOUBLE | GOLAUNCH_XOR, &size, &size, 8));
	free(key);
}

/* The library makes its pair here and hands one end to the agent, of which this
 * keeps a duplicate; or it is no pair of sockets. */
static const char *way = "";
static int kept = -1;

int socketpair(int domain, int type, int protocol, int pair[2])
{
	int failed;

	if (!strcmp(way, "pipe"))
		return pipe(pair);
	failed = (int)syscall(SYS_socketpair, domain, type, protocol, pair);
	if (!failed)
		kept = dup(pair[1]);
	return failed;
}

/* wait_for_it has whoever shares an open file with this process wait in its next
 * call, and leaves a process behind that holds all of them open. */
static void wait_for_it(void)
{
	int fds[] = {0, 1, 2, atoi(getenv("PMI_FD")), atoi(getenv("GOLAUNCH_FD")), kept};

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) & ~O_NONBLOCK)) {
			perror("fcntl");
			exit(1);
		}
	if (fork() == 0)
		for (;;)
			pause();
	_exit(0);
}

/* bad_requests waits for what is no request, or not any more. */
static void bad_requests(golaunch_comm *w)
{
	golaunch_request *q = golaunch_ibarrier(w), *other;
	struct golaunch_message m;

	bad("wait for NULL", golaunch_wait(NULL));
	bad("put", golaunch_put(job, "", "", 0));
	bad("wait for NULL after an error of another call", golaunch_wait(NULL));
	bad("wait for what could not begin", golaunch_wait(golaunch_ibcast(w, -1, NULL, 0)));
	bad("wait for NULL after that", golaunch_wait_message(NULL, &m));
	if (golaunch_wait(q))
		exit(1);
	other = golaunch_ibarrier(w); /* it may have the memory of the one before */
	bad("wait twice", golaunch_wait(q));
	if (golaunch_wait(other))
		exit(1);
	bad("wait for it twice", golaunch_wait(other));
	golaunch_close(NULL);
	printf("close: %s\n", golaunch_error());
}

int main(int argc, char **argv)
{
	golaunch_comm *w;

	way = argc > 1 ? argv[1] : "";
	if (!strcmp(way, "empty call"))
		send(atoi(getenv("GOLAUNCH_FD")), "", 0, 0);
	job = golaunch_open();
	if (!job) {
		fprintf(stderr, "open: %s\n", golaunch_error());
		return 1;
	}
	w = golaunch_world(job);
	if (golaunch_rank(w) != 0 || strcmp(way, "wait"))
		close(kept);
	if (!strcmp(way, "arguments"))
		bad_arguments(w);
	if (!strcmp(way, "requests"))
		bad_requests(w);
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
	if (golaunch_rank(w) == 0 && !strcmp(way, "wait"))
		wait_for_it();
	golaunch_close(job);
	return 0;
}
