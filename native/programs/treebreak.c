/*
 * treebreak breaks the protocol between a rank and its agent, in the way that its
 * argument names. Rank 0 does; the others wait in a barrier.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
	bad("sum of half an element", golaunch_allreduce(w, GOLAUNCH_INT64, GOLAUNCH_SUM, &byte, &byte, 1));
	bad("bits of doubles", golaunch_scan(w, GOLAUNCH_DOUBLE, GOLAUNCH_XOR, &size, &size, 8));
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
	golaunch_request *q = golaunch_ibarrier(w), *copy = q, *none = NULL, *other;

	bad("wait for nothing", golaunch_wait(NULL));
	bad("wait for NULL", golaunch_wait(&none));
	bad("put", golaunch_put(job, "", "", 0));
	bad("wait for NULL after an error of another call", golaunch_wait(&none));
	none = golaunch_ibcast(w, -1, NULL, 0);
	bad("wait for what could not begin", golaunch_wait(&none));
	bad("wait for NULL after that", golaunch_wait(&none));
	bad("test of NULL", golaunch_test(none) < 0);
	bad("wait for any of none", golaunch_waitany(&none, 1) < 0);
	bad("wait for any of NULL", golaunch_waitany(NULL, 1) < 0);
	bad("test of any of none", golaunch_testany(&none, 1) < 0);
	if (golaunch_wait(&q) || q)
		exit(1);
	other = golaunch_ibarrier(w); /* it may have the memory of the one before */
	bad("wait twice", golaunch_wait(&q));
	bad("wait for a copy", golaunch_wait(&copy));
	bad("test of a copy", golaunch_test(copy) < 0);
	bad("wait for any with a copy", golaunch_waitany((golaunch_request *[]){other, copy}, 2) < 0 || golaunch_waitany(&copy, 1) < 0);
	copy = other;
	if (golaunch_wait(&other))
		exit(1);
	bad("wait for the copy of another", golaunch_wait(&copy));
	golaunch_close(NULL);
	printf("close: %s\n", golaunch_error());
}

/* bad_pointers has no job, communicator or buffer. */
static void bad_pointers(golaunch_comm *w)
{
	golaunch_comm *none = NULL, *made;
	char both[8] = "";
	short events;

	bad("world of no job", !golaunch_world(NULL));
	bad("nodes of no job", golaunch_nodes(NULL) < 0);
	bad("descriptor of no job", golaunch_fd(NULL, &events) < 0);
	bad("progress of no job", golaunch_progress(NULL));
	bad("fence of no job", golaunch_fence(NULL));
	bad("board of no job", !golaunch_board_open(NULL));
	bad("rank in nothing", golaunch_rank(NULL) < 0);
	bad("barrier of nothing", golaunch_barrier(NULL));
	bad("scan of nothing", golaunch_scan(NULL, GOLAUNCH_UINT8, GOLAUNCH_SUM, both, both, 1));
	bad("split of nothing", golaunch_split(NULL, 0, 0, &made));
	bad("locate in nothing", golaunch_locate(NULL, 0, NULL, NULL));
	bad("free of nothing", golaunch_comm_free(NULL));
	bad("free of NULL", golaunch_comm_free(&none));
	bad("free of the world", golaunch_comm_free(&w));
	if (golaunch_split(w, 0, 0, &made) || golaunch_comm_free(&made) || made)
		exit(1);
	bad("barrier of what was freed", golaunch_barrier(made));
	bad("send of nothing", golaunch_send(w, 0, 0, NULL, 1));
	bad("recv to nothing", golaunch_recv(w, 0, 0, NULL, 1, NULL));
	bad("bcast of nothing", golaunch_bcast(w, 0, NULL, 1));
	bad("alltoall in place", golaunch_alltoall(w, both, both, 1));
	bad("type and operation the wrong way round", golaunch_allreduce(w, (golaunch_type)GOLAUNCH_SUM, (golaunch_op)GOLAUNCH_UINT8, both, both, 1));
	bad("an operation that there is not", golaunch_allreduce(w, GOLAUNCH_UINT8, (golaunch_op)99, both, both, 1));
}

static void *receives(void *world)
{
	char byte;

	golaunch_recv(world, 0, 1, &byte, 1, NULL); /* nobody sends it */
	return NULL;
}

/* bad_threads calls while another thread waits. */
static void bad_threads(golaunch_comm *w)
{
	golaunch_request *q = golaunch_irecv(w, 0, 2, NULL, 0);
	pthread_t other;

	if (!q || pthread_create(&other, NULL, receives, w))
		exit(1);
	while (!__atomic_load_n(&job->waiting, __ATOMIC_RELAXED))
		sched_yield();
	bad("barrier of another thread", golaunch_barrier(w));
	bad("barrier that begins", !golaunch_ibarrier(w));
	bad("test", golaunch_test(q) < 0);
	bad("test of any", golaunch_testany(&q, 1) < 0);
	bad("wait", golaunch_wait(&q));
	bad("progress", golaunch_progress(job));
	bad("fence", golaunch_fence(job));
	golaunch_close(job);
	printf("close: %s\n", golaunch_error());
	fflush(stdout);
	_exit(0);
}

/* bad_child has a child of the rank call. */
static void bad_child(golaunch_comm *w)
{
	golaunch_request *q = golaunch_irecv(w, 0, 1, NULL, 0);
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		bad("barrier of a child", golaunch_barrier(w));
		bad("put of a child", golaunch_put(job, "key", "", 0));
		bad("test of a child", golaunch_test(q) < 0);
		bad("wait of a child", golaunch_wait(&q));
		golaunch_close(job);
		bad("wait of a child that has closed", golaunch_wait(&q));
		exit(0);
	}
	if (waitpid(child, &status, 0) != child || status || golaunch_send(w, 0, 1, NULL, 0) || golaunch_wait(&q))
		exit(1);
}

/* bad_end closes the job with requests under way. */
static void bad_end(golaunch_comm *w)
{
	static char mine[1 << 20], all[1 << 20];
	golaunch_comm *made;
	golaunch_request *q[] = {
		golaunch_irecv(w, 0, 1, mine, sizeof mine), golaunch_isend(w, 0, 2, mine, sizeof mine),
		golaunch_iallreduce(w, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, all, sizeof mine), golaunch_isplit(w, 0, 0, &made),
		golaunch_iexscan(w, GOLAUNCH_DOUBLE, GOLAUNCH_SUM, mine, all, sizeof mine),
	};

	golaunch_close(job);
	for (size_t i = 0; i < sizeof q / sizeof *q; i++)
		bad("wait after close", golaunch_wait(&q[i]));
	bad("open once more", !golaunch_open());
	exit(0);
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
	if (!strcmp(way, "pointers"))
		bad_pointers(w);
	if (!strcmp(way, "threads"))
		bad_threads(w);
	if (!strcmp(way, "child"))
		bad_child(w);
	if (!strcmp(way, "end"))
		bad_end(w);
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
