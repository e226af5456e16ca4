/*
 * A client of PMGR_COLLECTIVE, version 8, written from the protocol
 * (docs/pmi.md). It checks every operation; with MPIRUN_USE_TREES=1 it gathers
 * addresses over the server and does the rest in a binomial tree of its own, as
 * MVAPICH's client does.
 *
 * usage: pmgrclient [-n ROUNDS] [-s SIZE] [-x FAULT [-r RANK]] [-t] [-c HOST:PORT]
 *   FAULT  what rank RANK does wrong: op root size version twice vanish hangup
 *          absent abort:CODE[,STATUS] late-abort:CODE[,STATUS]
 *          leave-abort:CODE[,STATUS]
 *   -t     start up as MVAPICH does, and print when: last start, last end
 *   -c     use a server there instead of golaunch's
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN, CLOSE, ABORT, BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, VERSION = 8 };

static int rank, size, fd = -1;
static const char *host, *port;

static void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "pmgrclient: rank %d of %d: ", rank, size);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void put(int s, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		ssize_t k = send(s, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("send: %s", strerror(errno));
		p += k;
		n -= (size_t)k;
	}
}

static void get(int s, void *data, size_t n)
{
	char *p = data;

	while (n > 0) {
		ssize_t k = recv(s, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			die("recv: %s", k ? strerror(errno) : "the connection was closed");
		p += k;
		n -= (size_t)k;
	}
}

static void put_int(int s, int v) { put(s, &v, sizeof v); }

static int variable(const char *name)
{
	const char *s = getenv(name);

	if (!s)
		die("%s is not set: start me with golaunch --pmgr", name);
	return atoi(s);
}

static int call(struct in_addr to, int number)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(number), .sin_addr = to};
	int s = socket(AF_INET, SOCK_STREAM, 0), tries = 10;

	while (connect(s, (struct sockaddr *)&a, sizeof a)) {
		if (--tries == 0)
			die("connect to %s, port %d: %s", inet_ntoa(to), number, strerror(errno));
		close(s);
		s = socket(AF_INET, SOCK_STREAM, 0);
		usleep(50000);
	}
	return s;
}

static int call_server(void)
{
	struct in_addr a;

	if (!inet_aton(host, &a))
		die("MPIRUN_HOST is \"%s\"", host);
	return call(a, atoi(port));
}

/* The operations, over the server. */
static void head(int op, int root, int bytes)
{
	int h[3] = {op, root, bytes};

	put(fd, h, sizeof h);
}

static void barrier(void)
{
	int x;

	put_int(fd, BARRIER);
	get(fd, &x, sizeof x);
}

static void bcast(void *buf, int bytes, int root)
{
	head(BCAST, root, bytes);
	if (rank == root)
		put(fd, buf, bytes);
	get(fd, buf, bytes);
}

static void gather(const void *mine, int bytes, void *all, int root)
{
	head(GATHER, root, bytes);
	put(fd, mine, bytes);
	if (rank == root)
		get(fd, all, (size_t)bytes * size);
}

static void scatter(const void *all, int bytes, void *mine, int root)
{
	head(SCATTER, root, bytes);
	if (rank == root)
		put(fd, all, (size_t)bytes * size);
	get(fd, mine, bytes);
}

static void exchange(int op, const void *send, size_t send_bytes, int bytes, void *all)
{
	int h[2] = {op, bytes};

	put(fd, h, sizeof h);
	put(fd, send, send_bytes);
	get(fd, all, (size_t)bytes * size);
}

static void check_in(int version)
{
	usleep(rank * 5);
	fd = call_server();
	put_int(fd, version);
	put_int(fd, rank);
}

static void leave(void)
{
	put_int(fd, CLOSE);
	close(fd);
}

/* abort_job is not the end of the program that calls it, as in LLNL's library: say,
 * as "code,status", decides on its end. */
static void abort_job(const char *say, const char *text)
{
	const char *comma = strchr(say, ',');
	int code = atoi(say);

	int s = call_server();

	put_int(s, code);
	put_int(s, rank);
	put_int(s, (int)strlen(text) + 1);
	put(s, text, strlen(text) + 1);
	close(s);
	exit(comma ? atoi(comma + 1) : code);
}

/* The message of rank from for rank to in round i. */
static void fill(char *p, int bytes, int from, int to, int i)
{
	for (int k = 0; k < bytes; k++)
		p[k] = (char)(from * 31 + to * 17 + i * 7 + k);
}

static void check(const char *op, const char *p, int bytes, int from, int to, int i)
{
	char want[bytes + 1];

	fill(want, bytes, from, to, i);
	if (memcmp(p, want, bytes))
		die("%s: wrong bytes from rank %d, round %d", op, from, i);
}

static void all_operations(int bytes, int i)
{
	char *one = malloc(bytes + 1), *many = malloc((size_t)bytes * size + 1), *got = malloc((size_t)bytes * size + 1);
	int root = (i * 5 + size - 1) % size;

	barrier();
	fill(one, bytes, rank, 0, i);
	bcast(one, bytes, root);
	check("bcast", one, bytes, root, 0, i);

	fill(one, bytes, rank, root, i);
	gather(one, bytes, got, root);
	for (int r = 0; rank == root && r < size; r++)
		check("gather", got + (size_t)r * bytes, bytes, r, root, i);

	for (int r = 0; r < size; r++)
		fill(many + (size_t)r * bytes, bytes, rank, r, i);
	scatter(many, bytes, one, root);
	check("scatter", one, bytes, root, rank, i);

	fill(one, bytes, rank, 1, i);
	exchange(ALLGATHER, one, bytes, bytes, got);
	for (int r = 0; r < size; r++)
		check("allgather", got + (size_t)r * bytes, bytes, r, 1, i);

	exchange(ALLTOALL, many, (size_t)bytes * size, bytes, got);
	for (int r = 0; r < size; r++)
		check("alltoall", got + (size_t)r * bytes, bytes, r, rank, i);
	free(one);
	free(many);
	free(got);
}

/* A tree of the clients' own: rank low leads low to high, its children the
 * ranks mid to high, and so on with low to mid - 1. */
static int above = -1, below[32], children;

static const uint32_t magic = 2238503211u;

static void greet(int s, int connector)
{
	char text[64], other[64];
	uint32_t h[2], one = 1;
	int n = snprintf(text, sizeof text, "%d::ALL", variable("MPIRUN_ID")) + 1;

	if (connector) {
		h[0] = magic, h[1] = n;
		put(s, h, sizeof h);
		put(s, text, n);
	}
	get(s, h, sizeof h);
	if (h[0] != magic || h[1] != (uint32_t)n)
		die("tree: a stranger");
	get(s, other, n);
	if (memcmp(text, other, n))
		die("tree: %s instead of %s", other, text);
	if (connector) {
		put(s, &one, sizeof one);
		return;
	}
	put(s, h, sizeof h);
	put(s, text, n);
	get(s, &one, sizeof one);
}

struct __attribute__((packed)) address {
	struct in_addr ip;
	uint16_t port;
};

static void tree_open(void)
{
	const char *own = getenv("PMI_HOSTNAME");
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof a;
	struct in_addr ip;
	struct address mine, *table = malloc(sizeof *table * size);
	int l = socket(AF_INET, SOCK_STREAM, 0), one, low = 0, high = size - 1;

	if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 4) || getsockname(l, (struct sockaddr *)&a, &n))
		die("listen: %s", strerror(errno));
	if (!inet_aton(own ? own : "127.0.0.1", &ip))
		die("PMI_HOSTNAME is \"%s\"", own);
	mine.ip = ip;
	mine.port = ntohs(a.sin_port);
	gather(&mine, sizeof mine, table, 0);
	leave();

	while (low != rank) { /* down to where this one leads */
		int mid = low + (high - low + 1) / 2;

		if (rank >= mid)
			low = mid;
		else
			high = mid - 1;
	}
	if (rank > 0) {
		above = accept(l, NULL, NULL);
		if (above < 0)
			die("accept: %s", strerror(errno));
		greet(above, 0);
		get(above, &one, sizeof one);
		get(above, table, sizeof *table * size);
	}
	close(l);
	while (low < high) {
		int mid = low + (high - low + 1) / 2;
		int s = call(table[mid].ip, table[mid].port);

		greet(s, 1);
		put_int(s, 1);
		put(s, table, sizeof *table * size);
		below[children++] = s;
		high = mid - 1;
	}
	free(table);
}

/* The sum of everyone's number, everywhere: a barrier that can be checked. */
static long long tree_sum(long long x)
{
	long long part;
	int one;

	for (int i = 0; i < children; i++) {
		get(below[i], &one, sizeof one);
		get(below[i], &part, sizeof part);
		x += part;
	}
	if (above >= 0) {
		put_int(above, 1);
		put(above, &x, sizeof x);
		get(above, &one, sizeof one);
		get(above, &x, sizeof x);
	}
	for (int i = 0; i < children; i++) {
		put_int(below[i], 1);
		put(below[i], &x, sizeof x);
	}
	return x;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Starts up as MVAPICH 1 does: names to all, queue pairs to each, a barrier. */
static void timed(double begun)
{
	double times[2] = {begun}, *all = malloc(sizeof times * size), last[2] = {0};
	char name[16] = "n", *table = calloc(size, 16);

	exchange(ALLGATHER, name, sizeof name, sizeof name, table);
	exchange(ALLTOALL, table, (size_t)size * 8, 8, table + (size_t)size * 8);
	barrier();
	times[1] = now();
	gather(times, sizeof times, all, 0);
	leave();
	for (int i = 0; rank == 0 && i < 2 * size; i++)
		if (all[i] > last[i % 2])
			last[i % 2] = all[i];
	if (rank == 0)
		printf("%.6f %.6f\n", last[0], last[1]);
}

static void misbehave(const char *fault)
{
	char x[8] = "";

	if (!strcmp(fault, "absent"))
		exit(0);
	if (!strcmp(fault, "version")) {
		check_in(5);
		pause();
	}
	check_in(VERSION);
	barrier();
	if (!strcmp(fault, "op"))
		exchange(ALLGATHER, x, 4, 4, x);
	if (!strcmp(fault, "root"))
		gather(x, 4, x, 1);
	if (!strcmp(fault, "size"))
		gather(x, 8, x, 0);
	if (!strcmp(fault, "twice"))
		check_in(VERSION);
	if (!strcmp(fault, "vanish"))
		exit(0);
	if (!strcmp(fault, "hangup"))
		close(fd);
	if (!strncmp(fault, "abort:", 6))
		abort_job(fault + 6, "I give up");
	if (!strncmp(fault, "leave-abort:", 12)) {
		leave();
		abort_job(fault + 12, "I leave");
	}
	pause();
}

int main(int argc, char **argv)
{
	double begun = now();
	int opt, rounds = 2, bytes = 100, culprit = 0, timing = 0;
	const char *fault = "";
	char *colon;

	rank = variable("MPIRUN_RANK");
	size = variable("MPIRUN_NPROCS");
	host = getenv("MPIRUN_HOST");
	port = getenv("MPIRUN_PORT");
	while ((opt = getopt(argc, argv, "n:s:x:r:tc:")) != -1)
		switch (opt) {
		case 'n': rounds = atoi(optarg); break;
		case 's': bytes = atoi(optarg); break;
		case 'x': fault = optarg; break;
		case 'r': culprit = atoi(optarg); break;
		case 't': timing = 1; break;
		case 'c':
			host = optarg;
			if (!(colon = strchr(optarg, ':')))
				die("-c %s: no port", optarg);
			*colon = 0;
			port = colon + 1;
			break;
		default: return 2;
		}
	if (!host || !port || !variable("MPIRUN_ID"))
		die("MPIRUN_HOST, MPIRUN_PORT or MPIRUN_ID is not set");
	if (*fault && rank == culprit && strncmp(fault, "late-", 5))
		misbehave(fault);
	if (size > 1)
		check_in(VERSION);
	if (*fault && strncmp(fault, "late-", 5)) {
		char x[8] = "", all[8 * size];

		barrier();
		gather(x, 4, all, 0);
		barrier();
	}
	if (timing) {
		timed(begun);
		return 0;
	}
	if (size > 1 && variable("MPIRUN_USE_TREES")) {
		tree_open();
		for (int i = 0; i < rounds; i++)
			if (tree_sum(rank + i) != (long long)size * (size - 1) / 2 + (long long)size * i)
				die("tree: wrong sum in round %d", i);
	} else if (size > 1) {
		for (int i = 0; i < rounds; i++)
			all_operations(bytes, i);
		leave();
	}
	if (rank == culprit && !strncmp(fault, "late-abort:", 11))
		abort_job(fault + 11, "too late");
	printf("rank %d of %d ok\n", rank, size);
	return 0;
}
