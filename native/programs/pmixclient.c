/*
 * pmixclient: a client of PMIx without MPI, for tests and measurements.
 *
 * In each round every rank puts one value, enters the fence, and gets and checks
 * others':
 *
 *   pmixclient [-m across|all|none] [-d] [-n ROUNDS] [-l LENGTH] [-t]
 *              [-x fence|connect|spawn [-r RANK]]
 *
 *   -m   whose values are got: that of the rank half the world away (the default),
 *        every rank's, or nobody's
 *   -d   the fence collects nothing: values are fetched one by one (direct modex)
 *   -n   rounds, each with keys of its own (1)
 *   -l   length of a value in bytes (32)
 *   -t   print when the steps of each round were over, instead of "ok"; a fence
 *        that collects nothing comes before each round. "rank R times A B C D":
 *        nanoseconds of the machine's monotonic clock at the round's begin, after
 *        the put, after the fence and after the gets
 *   -x   after the rounds enter for ever, having said "rank R enters": a fence, or a
 *        connect of the world, which RANK (the last one) never does, or, RANK
 *        alone, a connect to processes that it spawns and that are no clients
 *
 * Prints "rank R of N ok" and exits 0, or says on stderr what is wrong and
 * exits 1.
 */
#include <pmix.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LENGTH = 1 << 20 };

static pmix_proc_t self;
static uint32_t size;
static long long times[4]; /* of this round */

static void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "pmixclient: rank %u: ", self.rank);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

static void check(pmix_status_t rc, const char *what)
{
	if (rc != PMIX_SUCCESS)
		die("%s: %s", what, PMIx_Error_string(rc));
}

static long number(const char *what, const char *text, long least, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == 0 || *end != 0 || n < least || n > most)
		die("%s \"%s\": want %ld to %ld", what, text, least, most);
	return n;
}

static void stamp(int step)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	times[step] = t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fence(bool collect)
{
	pmix_info_t info;

	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	check(PMIx_Fence(NULL, 0, &info, 1), "fence");
}

/* bytes makes what rank r puts in a round: it depends on both, so that a stale or
 * foreign value shows, and cannot be compressed, as libpmix 5 does with long values. */
static void bytes(char *out, long length, long round, uint32_t r)
{
	uint64_t x = ((uint64_t)round << 32 | r) + 1;

	for (long i = 0; i < length; i++) { /* xorshift64* */
		x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
		out[i] = (char)(x * 0x2545f4914f6cdd1d >> 56);
	}
}

static void name(char *key, long round)
{
	snprintf(key, PMIX_MAX_KEYLEN, "round %ld", round);
}

static void put(char *space, long length, long round)
{
	pmix_key_t key;
	pmix_value_t value;

	bytes(space, length, round, self.rank);
	name(key, round);
	value.type = PMIX_BYTE_OBJECT;
	value.data.bo = (pmix_byte_object_t){space, (size_t)length};
	check(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
	check(PMIx_Commit(), "commit");
}

static void get(char *space, long length, long round, uint32_t r)
{
	pmix_key_t key;
	pmix_proc_t who = self;
	pmix_value_t *value;

	who.rank = r;
	name(key, round);
	check(PMIx_Get(&who, key, NULL, 0, &value), "get");
	bytes(space, length, round, r);
	if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != (size_t)length || memcmp(value->data.bo.bytes, space, (size_t)length) != 0)
		die("round %ld: the value of rank %u is not what it put", round, r);
	PMIX_VALUE_RELEASE(value);
}

static void do_round(const char *mode, bool direct, long round, char *space, long length)
{
	stamp(0);
	put(space, length, round);
	stamp(1);
	fence(!direct);
	stamp(2);
	if (strcmp(mode, "all") == 0)
		for (uint32_t r = 0; r < size; r++)
			get(space, length, round, r);
	else if (strcmp(mode, "across") == 0)
		get(space, length, round, (self.rank + size / 2) % size);
	stamp(3);
}

/* hang enters what never ends. */
static void hang(const char *where, uint32_t alone)
{
	pmix_proc_t procs[2] = {self, self};
	char *argv[] = {"sleep", "1000", NULL};
	bool spawns = strcmp(where, "spawn") == 0;

	if (spawns != (self.rank == alone)) /* a rank that is left out */
		for (;;)
			pause();
	procs[0].rank = PMIX_RANK_WILDCARD;
	if (spawns) {
		pmix_app_t app;

		PMIX_APP_CONSTRUCT(&app);
		app.cmd = strdup("sleep");
		PMIX_ARGV_COPY(app.argv, argv);
		app.maxprocs = 2;
		check(PMIx_Spawn(NULL, 0, &app, 1, procs[1].nspace), "spawn");
		procs[0].rank = self.rank;
		procs[1].rank = PMIX_RANK_WILDCARD;
	}
	printf("rank %u enters\n", self.rank);
	fflush(stdout);
	if (strcmp(where, "fence") == 0)
		fence(true);
	else
		check(PMIx_Connect(procs, spawns ? 2 : 1, NULL, 0), "connect");
	die("%s ended", where);
}

int main(int argc, char **argv)
{
	const char *mode = "across", *where = NULL;
	long rounds = 1, length = 32, alone = -1;
	bool direct = false, tell = false;
	pmix_value_t *value;
	pmix_proc_t world;
	char *space;

	for (int c; (c = getopt(argc, argv, "m:dn:l:tx:r:")) != -1;) {
		switch (c) {
		case 'm': mode = optarg; break;
		case 'd': direct = true; break;
		case 'n': rounds = number("rounds", optarg, 0, 1000000); break;
		case 'l': length = number("length", optarg, 1, MAX_LENGTH); break;
		case 't': tell = true; break;
		case 'x': where = optarg; break;
		case 'r': alone = number("rank", optarg, 0, 1000000); break;
		default: die("unknown option");
		}
	}
	space = malloc((size_t)length);
	if (!space)
		die("no memory");
	check(PMIx_Init(&self, NULL, 0), "init");
	world = self;
	world.rank = PMIX_RANK_WILDCARD;
	check(PMIx_Get(&world, PMIX_JOB_SIZE, NULL, 0, &value), "size of the job");
	size = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	for (long round = 0; round < rounds; round++) {
		if (tell)
			fence(false);
		do_round(mode, direct, round, space, length);
		if (tell)
			printf("rank %u times %lld %lld %lld %lld\n", self.rank, times[0], times[1], times[2], times[3]);
	}
	if (where)
		hang(where, alone < 0 ? size - 1 : (uint32_t)alone);
	if (!tell)
		printf("rank %u of %u ok\n", self.rank, size);
	fflush(stdout);
	fence(false); /* nobody asks one that has left */
	check(PMIx_Finalize(NULL, 0), "finalize");
	free(space);
	return 0;
}
