/*
 * rankprobe: a rank that shows what it was given, or behaves in one of the ways
 * that launchers have to cope with. It speaks no PMI. Its rank is PMI_RANK.
 *
 *   rankprobe context            print working directory, umask, limits, open
 *                                descriptors, session, ignored signals, environment
 *   rankprobe lines N [SEED [LONGEST]]
 *                                print N lines of random length, up to LONGEST (5000),
 *                                written in random pieces, then their number, bytes
 *                                and checksum
 *   rankprobe long BYTES         print one line of that length
 *   rankprobe partial TEXT MS    print TEXT, after MS milliseconds its newline
 *   rankprobe flood BYTES        print at least that many bytes of lines; 0: for ever
 *   rankprobe stdin              read standard input; print its bytes and checksum
 *   rankprobe sleep              print the pid, then sleep for ever
 *   rankprobe stubborn           ignore every polite signal, with a grandchild in a
 *                                session of its own that does too; print the pid
 *   rankprobe leave              exit 0 and leave a child that holds the output open
 *   rankprobe exit CODE          exit with a code
 *   rankprobe signal NUMBER      end by a signal
 *
 *   -r RANK before the word: only that rank does; the others sleep for ever.
 *
 * Every line it prints, but for partial's, begins with "rank R ". Checksums are 64-bit FNV-1a.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long rank;
extern char **environ;

static const uint64_t FNV_BASIS = 14695981039346656037u, FNV_PRIME = 1099511628211u;

static uint64_t fnv(uint64_t h, const char *p, size_t n)
{
	while (n-- > 0)
		h = (h ^ (unsigned char)*p++) * FNV_PRIME;
	return h;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "rankprobe: rank %ld: %s: %s\n", rank, what, why);
	exit(1);
}

static long number(const char *what, const char *s)
{
	char *end;
	long v;

	if (!s)
		die(what, "argument is missing");
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0)
		die(what, "bad number");
	return v;
}

static void put(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(1, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("write to stdout", strerror(errno));
		p += k;
		n -= (size_t)k;
	}
}

static void sleep_for_ever(void)
{
	for (;;)
		pause();
}

/* next is a small generator of its own, so that a seed gives the same lines on
 * every system. */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void context(void)
{
	static const struct { const char *name; int which; } limits[] = {
		{"core", RLIMIT_CORE}, {"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
		{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK}, {"as", RLIMIT_AS},
	};
	char cwd[4096];
	mode_t mask = umask(0);
	struct dirent *e;
	DIR *d;

	umask(mask);
	printf("rank %ld cwd %s\n", rank, getcwd(cwd, sizeof cwd) ? cwd : "?");
	printf("rank %ld umask %04o\n", rank, (unsigned)mask);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit l;

		if (getrlimit((__rlimit_resource_t)limits[i].which, &l) < 0)
			die("getrlimit", strerror(errno));
		printf("rank %ld limit %s %lld %lld\n", rank, limits[i].name, (long long)l.rlim_cur, (long long)l.rlim_max);
	}
	if (!(d = opendir("/proc/self/fd")))
		die("/proc/self/fd", strerror(errno));
	printf("rank %ld descriptors", rank);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			printf(" %s", e->d_name);
	closedir(d);
	printf("\nrank %ld leader %s\n", rank, getsid(0) == getpid() && getpgrp() == getpid() ? "yes" : "no");
	printf("rank %ld ignored", rank);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction sa;

		if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			printf(" %d", s);
	}
	putchar('\n');
	for (char **v = environ; *v; v++)
		printf("rank %ld env %s\n", rank, *v);
}

static void lines(long n, uint64_t seed, size_t longest)
{
	char *buf = malloc(longest + 64);
	uint64_t state = (seed + 1) * 2654435761u + (uint64_t)rank + 1, sum = FNV_BASIS;
	long long bytes = 0;

	if (!buf)
		die("lines", strerror(errno));
	if (longest == 0)
		die("longest", "must be positive");
	for (long i = 0; i < n; i++) {
		/* Mostly short, now and then longer than a pipe's atomic write. */
		size_t text = next(&state) % (next(&state) % 16 ? 80 : longest);
		size_t len = (size_t)sprintf(buf, "rank %ld line %ld ", rank, i);

		for (size_t k = 0; k < text; k++)
			buf[len++] = (char)('a' + next(&state) % 26);
		buf[len++] = '\n';
		sum = fnv(sum, buf, len);
		bytes += (long long)len;
		for (size_t at = 0; at < len;) {
			size_t piece = 1 + next(&state) % (next(&state) % 8 ? 200 : longest);

			if (piece > len - at)
				piece = len - at;
			put(buf + at, piece);
			at += piece;
		}
	}
	printf("rank %ld wrote %ld lines %lld bytes sum %016llx\n", rank, n, bytes, (unsigned long long)sum);
	free(buf);
}

static void long_line(long bytes)
{
	char block[4096];
	size_t len = (size_t)sprintf(block, "rank %ld ", rank);

	put(block, len);
	memset(block, 'x', sizeof block);
	for (long left = bytes - (long)len - 1; left > 0; left -= (long)sizeof block)
		put(block, left < (long)sizeof block ? (size_t)left : sizeof block);
	put("\n", 1);
}

static void partial(const char *text, long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	if (!text)
		die("partial", "argument is missing");
	put(text, strlen(text));
	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
	put("\n", 1);
}

static void flood(long bytes)
{
	static char block[1 << 16];
	size_t len = 0;
	char line[128];
	size_t n = (size_t)sprintf(line, "rank %ld flood ", rank);

	memset(line + n, 'f', 79 - n);
	line[79] = '\n';
	for (; len + 80 <= sizeof block; len += 80)
		memcpy(block + len, line, 80);
	for (long done = 0; bytes == 0 || done < bytes; done += (long)len)
		put(block, len);
}

static void read_stdin(void)
{
	static char buf[1 << 16];
	uint64_t sum = FNV_BASIS;
	long long bytes = 0;

	for (;;) {
		ssize_t k = read(0, buf, sizeof buf);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("read from stdin", strerror(errno));
		if (k == 0)
			break;
		sum = fnv(sum, buf, (size_t)k);
		bytes += k;
	}
	printf("rank %ld stdin %lld bytes sum %016llx\n", rank, bytes, (unsigned long long)sum);
}

static void stubborn(void)
{
	static const int polite[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
	pid_t child;

	for (size_t i = 0; i < sizeof polite / sizeof *polite; i++)
		signal(polite[i], SIG_IGN);
	child = fork();
	if (child < 0)
		die("fork", strerror(errno));
	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild < 0)
			die("fork", strerror(errno));
		if (grandchild > 0)
			_exit(0); /* the grandchild is an orphan */
		setsid();
		sleep_for_ever();
	}
	printf("rank %ld stubborn %d\n", rank, (int)getpid());
	fflush(stdout);
	sleep_for_ever();
}

static void leave(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork", strerror(errno));
	if (child == 0)
		sleep_for_ever();
	printf("rank %ld leaves %d\n", rank, (int)child);
}

int main(int argc, char **argv)
{
	const char *word, *arg, *more;
	long who = -1;
	int at = 1;

	if (getenv("PMI_RANK"))
		rank = number("PMI_RANK", getenv("PMI_RANK"));
	if (argc > 2 && strcmp(argv[1], "-r") == 0) {
		who = number("-r", argv[2]);
		at = 3;
	}
	if (at >= argc) {
		fprintf(stderr, "usage: rankprobe [-r RANK] WORD [ARGUMENT...]\n");
		return 2;
	}
	word = argv[at];
	arg = at + 1 < argc ? argv[at + 1] : NULL;
	more = arg && at + 2 < argc ? argv[at + 2] : NULL;
	if (who >= 0 && who != rank)
		sleep_for_ever();

#define IS(w) (strcmp(word, w) == 0)
	if (IS("context")) {
		context();
	} else if (IS("lines")) {
		const char *most = more && at + 3 < argc ? argv[at + 3] : NULL;

		lines(number("lines", arg), more ? (uint64_t)number("seed", more) : 0, most ? (size_t)number("longest", most) : 5000);
	} else if (IS("long")) {
		long_line(number("long", arg));
	} else if (IS("partial")) {
		partial(arg, number("partial", more));
	} else if (IS("flood")) {
		flood(number("flood", arg));
	} else if (IS("stdin")) {
		read_stdin();
	} else if (IS("sleep")) {
		printf("rank %ld sleeps %d\n", rank, (int)getpid());
		fflush(stdout);
		sleep_for_ever();
	} else if (IS("stubborn")) {
		stubborn();
	} else if (IS("leave")) {
		leave();
	} else if (IS("exit")) {
		return (int)number("exit", arg);
	} else if (IS("signal")) {
		signal((int)number("signal", arg), SIG_DFL);
		kill(getpid(), (int)number("signal", arg));
		sleep_for_ever();
	} else {
		die(word, "unknown word");
	}
#undef IS
	return 0;
}
