/*
 * pmiclient: a PMI-1 client without a library, for tests and measurements.
 *
 * It speaks the wire protocol over the descriptor named by PMI_FD or, without
 * that, over a connection to PMI_PORT, one request and one reply at a time, as MPI
 * libraries do. In each round every rank puts one or more values, enters the
 * barrier, and reads back and checks others':
 *
 *   pmiclient [-m neighbour|all|none] [-n ROUNDS] [-p PUTS] [-l LENGTH] [-i] [-q]
 *             [-e] [-t] [-u] [-x FAULT [-r RANK]]
 *
 *   -m   whose values are read: both neighbours' (the default), every rank's,
 *        or nobody's
 *   -n   rounds, each with keys of its own (1)
 *   -p   values that each rank puts in a round (1)
 *   -l   length of a value in bytes, at least 32 (32)
 *   -i   print what the server says of the job
 *   -q   print nothing when all is well
 *   -e   print "rank R enters round K" before each round's barrier
 *   -t   print when the steps of each round were over, instead of "ok"; a barrier
 *        comes before each round. "rank R times A B C D": nanoseconds of the
 *        machine's monotonic clock at the round's begin, after the puts, after
 *        the barrier and after the gets
 *   -u   do not look at the values
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
#include "pmi1.h"

#include <signal.h>
#include <time.h>

enum { MIN_LENGTH = 32 };

static int tell, unchecked;
static long long times[4]; /* of this round */

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
	if (unchecked)
		return;
	value(want, length, round, r, i);
	got = field(line, "value");
	if (!got || strcmp(got, want) != 0)
		die("round %d: value %d of rank %d is \"%s\", expected \"%s\"", round, i, r, got ? got : "", want);
}

static void stamp(int step)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	times[step] = t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void do_round(const char *mode, int round, int puts, int length)
{
	char v[LINE];

	stamp(0);
	for (int i = 0; i < puts; i++) {
		value(v, length, round, rank, i);
		check_rc("put", ask("put_result", "cmd=put kvsname=%s key=k%d-%d-%d value=%s\n", kvs, round, rank, i, v));
	}
	stamp(1);
	if (tell) {
		printf("rank %d enters round %d\n", rank, round);
		fflush(stdout);
	}
	barrier();
	stamp(2);
	for (int i = 0; i < puts; i++) {
		if (strcmp(mode, "all") == 0) {
			for (int r = 0; r < size; r++)
				check_value(length, round, r, i);
		} else if (strcmp(mode, "neighbour") == 0) {
			check_value(length, round, (rank + 1) % size, i);
			check_value(length, round, (rank + size - 1) % size, i);
		}
	}
	stamp(3);
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
	int rounds = 1, puts = 1, length = MIN_LENGTH, info = 0, quiet = 0, timed = 0, who = -1, c;

	while ((c = getopt(argc, argv, "m:n:p:l:iqetux:r:")) != -1) {
		switch (c) {
		case 'm': mode = optarg; break;
		case 'n': rounds = number("-n", optarg); break;
		case 'p': puts = number("-p", optarg); break;
		case 'l': length = number("-l", optarg); break;
		case 'i': info = 1; break;
		case 'q': quiet = 1; break;
		case 'e': tell = 1; break;
		case 't': timed = 1; break;
		case 'u': unchecked = 1; break;
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
	for (int i = 0; i < rounds; i++) {
		if (timed)
			barrier();
		do_round(mode, i, puts, length);
		if (timed)
			printf("rank %d times %lld %lld %lld %lld\n", rank, times[0], times[1], times[2], times[3]);
	}
	barrier();
	ask("finalize_ack", "cmd=finalize\n");
	if (!quiet && !timed)
		printf("rank %d of %d ok\n", rank, size);
	return 0;
}
