/*
 * One PMGR server for all ranks of a job, as MVAPICH 1's launcher was: it takes
 * every rank's connection, reads one rank after another, and answers one after
 * another. Rivals are measured against it; it knows the operations that
 * "pmgrclient -t" calls.
 *
 * usage: pmgrcentral RANKS [BACKLOG [DESCRIPTORS]]
 *
 * Prints its port and, when all have said CLOSE, how many bytes it received and
 * sent, in how many pieces.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLOSE = 1, BARRIER = 3, GATHER = 5, ALLGATHER = 7, ALLTOALL = 8, VERSION = 8 };

static long long bytes, messages; /* received and sent */

static void fail(const char *what)
{
	fprintf(stderr, "pmgrcentral: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void get(int fd, void *data, size_t n)
{
	char *p = data;

	bytes += (long long)n;
	messages++;
	while (n > 0) {
		ssize_t k = recv(fd, p, n, 0);

		if (k == 0)
			errno = ECONNRESET;
		if (k <= 0)
			fail("receive");
		p += k;
		n -= (size_t)k;
	}
}

static int get_int(int fd)
{
	int x;

	get(fd, &x, sizeof x);
	return x;
}

static void put(int fd, const void *data, size_t n)
{
	const char *p = data;

	bytes += (long long)n;
	messages++;
	while (n > 0) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0)
			fail("send");
		p += k;
		n -= (size_t)k;
	}
}

/* One operation; 0 after CLOSE. */
static int serve(const int *fds, int n)
{
	int op = 0, root = 0, size = 0;
	size_t part = 0;
	char *all = NULL, *one;

	for (int i = 0; i < n; i++) {
		op = get_int(fds[i]);
		if (op == GATHER)
			root = get_int(fds[i]);
		if (op == GATHER || op == ALLGATHER || op == ALLTOALL) {
			size = get_int(fds[i]);
			part = op == ALLTOALL ? (size_t)size * n : (size_t)size;
			if (!all && !(all = malloc(part * n)))
				fail("memory");
			get(fds[i], all + i * part, part);
		}
	}
	one = malloc((size_t)size * n + 1);
	for (int i = 0; i < n; i++)
		switch (op) {
		case BARRIER: put(fds[i], &op, sizeof op); break;
		case GATHER:
			if (i == root)
				put(fds[i], all, part * n);
			break;
		case ALLGATHER: put(fds[i], all, part * n); break;
		case ALLTOALL:
			for (int r = 0; r < n; r++)
				memcpy(one + (size_t)r * size, all + r * part + (size_t)i * size, size);
			put(fds[i], one, part);
			break;
		}
	free(one);
	free(all);
	return op != CLOSE;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, l = socket(AF_INET, SOCK_STREAM, 0);
	int *fds = calloc(n + 1, sizeof *fds);
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t length = sizeof a;
	struct rlimit files;

	if (n < 1 || !fds)
		return 2;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = argc > 3 ? (rlim_t)atoi(argv[3]) : files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		fail("limit of descriptors");
	if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, argc > 2 ? atoi(argv[2]) : n) || getsockname(l, (struct sockaddr *)&a, &length))
		fail("listen");
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	for (int i = 0; i < n; i++) {
		int fd = accept(l, NULL, NULL), rank;

		if (fd < 0)
			fail("accept");
		if (get_int(fd) != VERSION || (rank = get_int(fd)) < 0 || rank >= n || fds[rank]) {
			errno = EPROTO;
			fail("check-in");
		}
		fds[rank] = fd;
	}
	while (serve(fds, n))
		;
	printf("%lld %lld\n", bytes, messages);
	return 0;
}
