/*
 * pmifloor: the cheapest way this machine can serve PMI to the ranks of a job.
 *
 * The yardstick for the agents' bulletin board (docs/architecture.md): as many
 * processes as there are nodes, each an epoll loop that starts its ranks over
 * socket pairs, answers every put with "done" and every get with one constant,
 * without keeping or looking up anything, and passes a byte up and down for a
 * barrier. Clients must not check the values they get (pmiclient -u).
 *
 *   pmifloor [-l LENGTH] NODES RANKS PROGRAM [ARG...]
 *
 *   -l   length of the constant in bytes (32)
 *
 * Every rank finds PMI_FD, PMI_RANK and PMI_SIZE in its environment. Exits 1
 * where a rank could not be started or did not exit 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, EVENTS = 128, PMI_FD = 3 };

static int nodes, ranks, length = 32;
static char **program;
static char got[8192]; /* the answer to every get */
static size_t got_size;

static void die(const char *what)
{
	fprintf(stderr, "pmifloor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EPIPE)
			return; /* the rank has gone */
		if (k < 0)
			die("write");
		p += k;
		n -= (size_t)k;
	}
}

/* start starts one rank and returns the server's end of its connection. */
static int start(int rank)
{
	int pair[2];
	char text[16];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid > 0) {
		close(pair[1]);
		return pair[0];
	}
	if (pair[1] == PMI_FD)
		fcntl(PMI_FD, F_SETFD, 0);
	else if (dup2(pair[1], PMI_FD) < 0)
		die("dup2");
	snprintf(text, sizeof text, "%d", rank);
	setenv("PMI_RANK", text, 1);
	snprintf(text, sizeof text, "%d", nodes * ranks);
	setenv("PMI_SIZE", text, 1);
	setenv("PMI_FD", "3", 1);
	execvp(program[0], program);
	die(program[0]);
	return -1;
}

/* reply appends the answer to one request and returns its length; a barrier has
 * none yet. */
static size_t reply(const char *line, char *out, int *inside)
{
	const char *text;

	if (strncmp(line, "cmd=get ", 8) == 0) {
		memcpy(out, got, got_size);
		return got_size;
	}
	if (strncmp(line, "cmd=put ", 8) == 0)
		text = "cmd=put_result rc=0\n";
	else if (strncmp(line, "cmd=barrier_in", 14) == 0) {
		++*inside;
		return 0;
	} else if (strncmp(line, "cmd=init ", 9) == 0)
		text = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
	else if (strncmp(line, "cmd=get_maxes", 13) == 0)
		text = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
	else if (strncmp(line, "cmd=get_my_kvsname", 18) == 0)
		text = "cmd=my_kvsname kvsname=floor\n";
	else
		text = "cmd=finalize_ack\n";
	strcpy(out, text);
	return strlen(text);
}

/* serve is one node: it starts its ranks, serves them until all have closed
 * their connections, and returns its exit status. */
static int serve(int node, int up)
{
	static char in[BUFFER], out[BUFFER * 2];
	struct epoll_event event = { .events = EPOLLIN }, ready[EVENTS];
	int epoll = epoll_create1(EPOLL_CLOEXEC), inside = 0, open = ranks, status, bad = 0;
	int *fds = calloc((size_t)ranks, sizeof *fds);

	if (epoll < 0 || !fds)
		die("epoll_create1");
	event.data.u32 = (unsigned)ranks;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, up, &event) < 0)
		die("epoll_ctl");
	for (int i = 0; i < ranks; i++) {
		fds[i] = start(node * ranks + i);
		event.data.u32 = (unsigned)i;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event) < 0)
			die("epoll_ctl");
	}
	while (open > 0) {
		int n = epoll_wait(epoll, ready, EVENTS, -1);

		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int k = 0; k < n; k++) {
			int i = (int)ready[k].data.u32, fd = i == ranks ? up : fds[i];
			ssize_t size = read(fd, in, sizeof in - 1);
			size_t due = 0;

			if (i == ranks) {
				if (size <= 0)
					return 1;
				for (int r = 0; r < ranks; r++)
					write_all(fds[r], "cmd=barrier_out\n", 16);
				continue;
			}
			if (size <= 0) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
				open--;
				continue;
			}
			/* Clients wait for each reply: a read is whole requests. */
			in[size] = 0;
			for (char *line = in, *end; (end = strchr(line, '\n')); line = end + 1)
				due += reply(line, out + due, &inside);
			write_all(fd, out, due);
			if (inside == ranks) {
				inside = 0;
				write_all(up, "b", 1);
			}
		}
	}
	while (wait(&status) > 0)
		bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	return bad;
}

/* root counts the nodes into every barrier and lets them out, until all have
 * ended. */
static int root(struct pollfd *down)
{
	int inside = 0, open = nodes, status, bad = 0;
	char c;

	while (open > 0) {
		if (poll(down, (nfds_t)nodes, -1) < 0)
			die("poll");
		for (int i = 0; i < nodes; i++) {
			if (!down[i].revents)
				continue;
			if (read(down[i].fd, &c, 1) == 1) {
				inside++;
			} else {
				close(down[i].fd);
				down[i].fd = -1; /* poll leaves it out */
				open--;
			}
		}
		if (inside == nodes) {
			inside = 0;
			for (int i = 0; i < nodes; i++)
				write_all(down[i].fd, "b", 1);
		}
	}
	while (wait(&status) > 0)
		bad |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	return bad;
}

static int number(const char *s, int most)
{
	char *end;
	long v = strtol(s, &end, 10);

	if (end == s || *end || v < 1 || v > most) {
		fprintf(stderr, "pmifloor: \"%s\" is not a number from 1 to %d\n", s, most);
		exit(2);
	}
	return (int)v;
}

int main(int argc, char **argv)
{
	struct pollfd *down;
	int opt;

	while ((opt = getopt(argc, argv, "+l:")) != -1) {
		if (opt != 'l')
			return 2;
		length = number(optarg, (int)sizeof got / 2);
	}
	if (argc - optind < 3) {
		fprintf(stderr, "usage: pmifloor [-l LENGTH] NODES RANKS PROGRAM [ARG...]\n");
		return 2;
	}
	nodes = number(argv[optind], 4096);
	ranks = number(argv[optind + 1], 4096);
	program = argv + optind + 2;
	signal(SIGPIPE, SIG_IGN);
	got_size = (size_t)sprintf(got, "cmd=get_result rc=0 value=%0*d\n", length, 0);
	down = calloc((size_t)nodes, sizeof *down);
	if (!down)
		die("memory");
	for (int i = 0; i < nodes; i++) {
		int pair[2];
		pid_t pid;

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			die("socketpair");
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid == 0) {
			for (int j = 0; j < i; j++)
				close(down[j].fd);
			close(pair[0]);
			exit(serve(i, pair[1]));
		}
		close(pair[1]);
		down[i].fd = pair[0];
		down[i].events = POLLIN;
	}
	return root(down);
}
