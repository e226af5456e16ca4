/*
 * floor: the cheapest way this machine can start N ranks.
 *
 * The yardstick for the warden (docs/architecture.md). For each rank it makes what
 * golaunch gives a rank, and nothing else: a pipe for stdout, a pipe for stderr
 * and a stream socketpair for PMI (the rank's end at descriptor 3), stdin from
 * /dev/null, a session of its own. Ranks are started one after another and
 * reaped in between, as fast as the kernel allows; nobody reads what they
 * write, so the program must write less than a pipe holds.
 *
 *   floor [-k] N PROGRAM [ARG...]
 *
 * Without -k the parent closes its three ends as soon as a rank has started,
 * so its descriptor table, which every fork copies, stays small. With -k it
 * keeps them all until the end, as a launcher of one process must.
 *
 * Prints "floor N wall_ms user_ms sys_ms" on stdout; the times of user and sys
 * are those of this process, without the ranks. Exits 1 where a rank could not
 * be started or did not exit 0.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENDS = 3, PMI_FD = 3 };

extern char **environ;

static void die(const char *what, int err)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(err));
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static double ms(struct timeval t)
{
	return t.tv_sec * 1e3 + t.tv_usec / 1e3;
}

/* raise_files lifts the soft descriptor limit to at least want, and as root the
 * hard limit too. */
static void raise_files(rlim_t want)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		die("getrlimit", errno);
	if (l.rlim_cur >= want)
		return;
	l.rlim_cur = want;
	if (l.rlim_max < want)
		l.rlim_max = want;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		die("raise the limit of open files (or leave -k out)", errno);
}

/* reap collects ranks that have ended; it waits for one if block is set.
 * Returns how many it collected and counts in *bad those that did not exit 0. */
static long reap(int block, long *bad)
{
	long n = 0;
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, block && n == 0 ? 0 : WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return n;
		n++;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			++*bad;
	}
}

/* spawn starts one rank and stores the parent's ends. */
static void spawn(char **argv, int devnull, const posix_spawnattr_t *attr, int ends[ENDS])
{
	int out[2], err[2], pmi[2], rc;
	posix_spawn_file_actions_t fa;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi) < 0)
		die("make a rank's pipes (try a larger limit of open files)", errno);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, devnull, 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	posix_spawn_file_actions_adddup2(&fa, pmi[1], PMI_FD);
	rc = posix_spawnp(&pid, argv[0], &fa, attr, argv, environ);
	if (rc != 0)
		die(argv[0], rc);
	posix_spawn_file_actions_destroy(&fa);
	close(out[1]);
	close(err[1]);
	close(pmi[1]);
	ends[0] = out[0];
	ends[1] = err[0];
	ends[2] = pmi[0];
}

int main(int argc, char **argv)
{
	int keep = 0, opt, devnull;
	long n, i, done = 0, bad = 0;
	int (*ends)[ENDS];
	posix_spawnattr_t attr;
	struct rusage ru;
	double start, end;
	char *rest;

	while ((opt = getopt(argc, argv, "+k")) != -1) {
		if (opt != 'k')
			goto usage;
		keep = 1;
	}
	if (argc - optind < 2)
		goto usage;
	errno = 0;
	n = strtol(argv[optind], &rest, 10);
	if (errno != 0 || *rest != '\0' || n < 1 || n > INT_MAX / (2 * ENDS))
		goto usage;
	argv += optind + 1;

	raise_files((keep ? n * ENDS : 0) + 64);
	ends = calloc(n, sizeof *ends);
	if (ends == NULL)
		die("memory", ENOMEM);
	/* Descriptor 3 is the rank's PMI end: hold it, so that no pipe gets it. */
	devnull = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (devnull < 0)
		die("/dev/null", errno);
	while (devnull <= PMI_FD)
		if ((devnull = fcntl(devnull, F_DUPFD_CLOEXEC, devnull + 1)) < 0)
			die("/dev/null", errno);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);

	start = now_ms();
	for (i = 0; i < n; i++) {
		spawn(argv, devnull, &attr, ends[i]);
		if (!keep) {
			close(ends[i][0]);
			close(ends[i][1]);
			close(ends[i][2]);
		}
		done += reap(0, &bad);
	}
	while (done < n) {
		long got = reap(1, &bad);

		if (got == 0)
			die("wait for ranks", errno);
		done += got;
	}
	end = now_ms();

	getrusage(RUSAGE_SELF, &ru);
	printf("floor %ld %.1f %.1f %.1f\n", n, end - start, ms(ru.ru_utime), ms(ru.ru_stime));
	if (bad > 0)
		fprintf(stderr, "floor: %ld of %ld ranks did not exit 0\n", bad, n);
	return bad > 0;

usage:
	fprintf(stderr, "usage: floor [-k] N PROGRAM [ARG...]\n");
	return 2;
}
