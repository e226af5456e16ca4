/*
 * pmiclient: a PMI-1 client without a library, for tests and measurements.
 *
 * It speaks the wire protocol over the descriptor named by PMI_FD, one request
 * and one reply at a time, as MPI libraries do. In each round every rank puts
 * one or more values, enters the barrier, and reads back and checks others':
 *
 *   pmiclient [-m neighbour|all|none] [-n ROUNDS] [-p PUTS] [-l LENGTH] [-i] [-q]
 *             [-x FAULT [-r RANK]]
 *
 *   -m   whose values are read: both neighbours' (the default), every rank's,
 *        or nobody's
 *   -n   rounds, each with keys of its own (1)
 *   -p   values that each rank puts in a round (1)
 *   -l   length of a value in bytes, at least 32 (32)
 *   -i   print what the server says of the job
 *   -q   print nothing when all is well
 *   -x   misbehave after the first barrier; with -r only that rank does, and
 *        the others go on:
 *          abort[:CODE]  PMI abort (code 1), then wait to be ended
 *          nofinalize    exit 0 without finalize
 *          eof           close the descriptor, then sleep
 *          garbage       send a line that is no PMI
 *          half          send half a request, then exit 0
 *          long          send a line of 1 MiB
 *          unknown       send a request that does not exist
 *          hang          never speak again
 *          exit:CODE     exit with a code
 *          kill:SIGNAL   end by a signal
 *
 * Prints "rank R of N ok" and exits 0, or says on stderr what is wrong and
 * exits 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 8192, MIN_LENGTH = 32 };

static int rank = -1, size = -1, fd = -1;
static char kvs[512];

static void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "pmiclient: rank %d of %d: ", rank, size);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static int number(const char *what, const char *s)
{
	char *end;
	long v;

	if (!s)
		die("%s is not set: start me with a launcher that speaks PMI-1", what);
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0 || v > 1 << 30)
		die("%s: bad number \"%s\"", what, s);
	return (int)v;
}

static void send_all(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("write to PMI_FD: %s", strerror(errno));
		p += k;
		n -= (size_t)k;
	}
}

/* reply reads one line, without its newline, into a buffer that the next call
 * reuses. */
static char *reply(void)
{
	static char buf[LINE];
	static size_t have, used;
	char *nl;

	memmove(buf, buf + used, have - used);
	have -= used;
	used = 0;
	while (!(nl = memchr(buf, '\n', have))) {
		ssize_t k;

		if (have == sizeof buf)
			die("reply longer than %d bytes", LINE);
		k = read(fd, buf + have, sizeof buf - have);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("read from PMI_FD: %s", strerror(errno));
		if (k == 0)
			die("the server closed the connection");
		have += (size_t)k;
	}
	*nl = 0;
	used = (size_t)(nl - buf) + 1;
	return buf;
}

/* field returns the value of a key in a reply: up to the next blank, or to the
 * end for "value", which comes last. NULL if there is none. */
static const char *field(const char *line, const char *key)
{
	static char out[LINE];
	size_t n = strlen(key);

	for (const char *p = line; p; p = strchr(p, ' ')) {
		p += *p == ' ';
		if (strncmp(p, key, n) != 0 || p[n] != '=')
			continue;
		strcpy(out, p + n + 1);
		if (strcmp(key, "value") != 0)
			out[strcspn(out, " ")] = 0;
		return out;
	}
	return NULL;
}

/* ask sends a request and returns its reply, which must be the named one. */
static char *ask(const char *want, const char *format, ...)
{
	char line[LINE];
	const char *cmd;
	char *r;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof line)
		die("request too long");
	send_all(line, (size_t)n);
	r = reply();
	cmd = field(r, "cmd");
	if (!cmd || strcmp(cmd, want) != 0)
		die("asked \"%.*s\", expected %s, got \"%s\"", n - 1, line, want, r);
	return r;
}

static void check_rc(const char *what, const char *r)
{
	const char *rc = field(r, "rc");

	if (rc && strcmp(rc, "0") != 0)
		die("%s refused: \"%s\"", what, r);
}

static void init(void)
{
	const char *name;
	char *r;

	rank = number("PMI_RANK", getenv("PMI_RANK"));
	size = number("PMI_SIZE", getenv("PMI_SIZE"));
	fd = number("PMI_FD", getenv("PMI_FD"));
	r = ask("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
	check_rc("init", r);
	ask("maxes", "cmd=get_maxes\n");
	r = ask("my_kvsname", "cmd=get_my_kvsname\n");
	if (!(name = field(r, "kvsname")) || strlen(name) >= sizeof kvs)
		die("bad name of the key-value space: \"%s\"", r);
	strcpy(kvs, name);
}

static void print_info(void)
{
	const char *v;
	char text[LINE];

	v = field(ask("universe_size", "cmd=get_universe_size\n"), "size");
	snprintf(text, sizeof text, "universe %s", v ? v : "?");
	v = field(ask("appnum", "cmd=get_appnum\n"), "appnum");
	printf("rank %d info %s app %s", rank, text, v ? v : "?");
	v = field(ask("get_result", "cmd=get kvsname=%s key=PMI_process_mapping\n", kvs), "value");
	printf(" mapping %s\n", v ? v : "none");
}

/* value makes what rank r puts as its ith value of a round. Round and rank are
 * in it, so that a stale or foreign value shows. */
static void value(char *out, int length, int round, int r, int i)
{
	int n = snprintf(out, MIN_LENGTH, "%d.%d.%d.", round, r, i);

	memset(out + n, 'x', (size_t)(length - n));
	out[length] = 0;
}

static void check_value(int length, int round, int r, int i)
{
	char want[LINE];
	const char *got;
	char *line;

	line = ask("get_result", "cmd=get kvsname=%s key=k%d-%d-%d\n", kvs, round, r, i);
	check_rc("get", line);
	value(want, length, round, r, i);
	got = field(line, "value");
	if (!got || strcmp(got, want) != 0)
		die("round %d: value %d of rank %d is \"%s\", expected \"%s\"", round, i, r, got ? got : "", want);
}

static void barrier(void)
{
	check_rc("barrier", ask("barrier_out", "cmd=barrier_in\n"));
}

static void do_round(const char *mode, int round, int puts, int length)
{
	char v[LINE];

	for (int i = 0; i < puts; i++) {
		value(v, length, round, rank, i);
		check_rc("put", ask("put_result", "cmd=put kvsname=%s key=k%d-%d-%d value=%s\n", kvs, round, rank, i, v));
	}
	barrier();
	for (int i = 0; i < puts; i++) {
		if (strcmp(mode, "all") == 0) {
			for (int r = 0; r < size; r++)
				check_value(length, round, r, i);
		} else if (strcmp(mode, "neighbour") == 0) {
			check_value(length, round, (rank + 1) % size, i);
			check_value(length, round, (rank + size - 1) % size, i);
		}
	}
}

static void wait_for_the_end(void)
{
	for (;;)
		pause();
}

/* misbehave does what -x names; it does not return. */
static void misbehave(const char *fault)
{
	size_t n = strcspn(fault, ":");
	const char *arg = fault[n] ? fault + n + 1 : NULL;
	char line[64];

#define IS(word) (n == strlen(word) && strncmp(fault, word, n) == 0)
	if (IS("abort")) {
		snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", arg ? number("abort code", arg) : 1);
		send_all(line, strlen(line));
		wait_for_the_end();
	} else if (IS("nofinalize")) {
		exit(0);
	} else if (IS("eof")) {
		close(fd);
		wait_for_the_end();
	} else if (IS("garbage")) {
		send_all("hello, is anybody there?\n", 25);
		wait_for_the_end();
	} else if (IS("half")) {
		send_all("cmd=get kvsn", 12);
		exit(0);
	} else if (IS("long")) {
		char *big = malloc(1 << 20);

		if (!big)
			die("out of memory");
		memset(big, 'a', 1 << 20);
		memcpy(big, "cmd=put kvsname=", 16);
		send_all(big, 1 << 20);
		wait_for_the_end();
	} else if (IS("unknown")) {
		send_all("cmd=make_coffee\n", 16);
		wait_for_the_end();
	} else if (IS("hang")) {
		wait_for_the_end();
	} else if (IS("exit") && arg) {
		exit(number("exit code", arg));
	} else if (IS("kill") && arg) {
		kill(getpid(), number("signal", arg));
		wait_for_the_end();
	}
#undef IS
	die("unknown fault \"%s\"", fault);
}

int main(int argc, char **argv)
{
	const char *mode = "neighbour", *fault = NULL;
	int rounds = 1, puts = 1, length = MIN_LENGTH, info = 0, quiet = 0, who = -1, c;

	while ((c = getopt(argc, argv, "m:n:p:l:iqx:r:")) != -1) {
		switch (c) {
		case 'm': mode = optarg; break;
		case 'n': rounds = number("-n", optarg); break;
		case 'p': puts = number("-p", optarg); break;
		case 'l': length = number("-l", optarg); break;
		case 'i': info = 1; break;
		case 'q': quiet = 1; break;
		case 'x': fault = optarg; break;
		case 'r': who = number("-r", optarg); break;
		default: return 2;
		}
	}
	if (optind < argc)
		die("unexpected argument \"%s\"", argv[optind]);
	if (strcmp(mode, "neighbour") != 0 && strcmp(mode, "all") != 0 && strcmp(mode, "none") != 0)
		die("-m: unknown mode \"%s\"", mode);
	if (length < MIN_LENGTH || length > LINE / 2)
		die("-l: %d is not between %d and %d", length, MIN_LENGTH, LINE / 2);

	/* A server that went away is reported by die, not by a signal. */
	signal(SIGPIPE, SIG_IGN);
	init();
	if (info)
		print_info();
	if (fault && (who < 0 || who == rank)) {
		barrier();
		misbehave(fault);
	} else if (fault) {
		barrier();
	}
	for (int i = 0; i < rounds; i++)
		do_round(mode, i, puts, length);
	barrier();
	ask("finalize_ack", "cmd=finalize\n");
	if (!quiet)
		printf("rank %d of %d ok\n", rank, size);
	return 0;
}
