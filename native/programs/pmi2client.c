/*
 * pmi2client: a PMI-2 client on top of Slurm's libpmi2, for tests and measurements.
 *
 * It goes through everything that the library offers and checks what comes
 * back:
 *
 *   pmi2client [-n ROUNDS] [-s PROCS] [-u SIZE] [-x FAULT [-r RANK]]
 *   pmi2client -m neighbour|all
 *
 *   -n   rounds of put, fence and get (2)
 *   -s   rank 0 spawns a world of PROCS and then 1 of this program, by two
 *        commands, and one whose program does not exist; -c is for those
 *   -u   what the universe's size should be: a number, or unknown
 *   -x   misbehave after the first fence; with -r only that rank does, and the
 *        others wait to be ended:
 *          abort       PMI abort of the world, with a text
 *          nofinalize  exit 0 without finalize
 *   -m   instead of all that, put one value of 32 bytes, fence, and get both
 *        neighbours' or every rank's, after a fence for a common begin. It prints
 *        "rank R times A B C D": nanoseconds of the machine's monotonic clock at the
 *        begin, after the put, after the fence and after the gets
 *
 * Prints "rank R of N ok" and exits 0, or says on stderr what is wrong and
 * exits 1.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slurm/pmi2.h>

enum { VALUE = PMI2_MAX_VALLEN - 1, SHORT = 32 };

static int rank = -1, size = -1;
static char job[256];

static void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "pmi2client: rank %d of %d: ", rank, size);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc != PMI2_SUCCESS)
		die("%s failed with %d", what, rc);
}

/* value makes what rank r puts in a round: semicolons, blanks and equals signs
 * are part of it. */
static void value(char *out, int round, int r)
{
	int n = snprintf(out, 64, "%d;;%d; a=b ", round, r);

	memset(out + n, 'x', (size_t)(VALUE - n));
	out[VALUE] = 0;
}

static void do_round(int round)
{
	char key[PMI2_MAX_KEYLEN], want[VALUE + 1], got[PMI2_MAX_VALLEN];
	int length;

	snprintf(key, sizeof key, "k%d", rank);
	value(want, round, rank);
	must("put", PMI2_KVS_Put(key, want));
	must("fence", PMI2_KVS_Fence());
	for (int r = 0; r < size; r++) {
		snprintf(key, sizeof key, "k%d", r);
		value(want, round, r);
		must("get", PMI2_KVS_Get(r % 2 ? job : NULL, r, key, got, sizeof got, &length));
		if (strcmp(got, want) != 0 || length != VALUE)
			die("round %d: the value of rank %d is \"%s\" (%d bytes), expected \"%s\"", round, r, got, length, want);
	}
	if (PMI2_KVS_Get(job, PMI2_ID_NULL, "-NONEXIST-KEY", got, sizeof got, &length) == PMI2_SUCCESS)
		die("a key that nobody put was found: \"%s\"", got);
	must("fence", PMI2_KVS_Fence());
}

static const char *universe; /* expected */

static void attributes(void)
{
	char got[PMI2_MAX_ATTRVALUE];
	const char *local = getenv("MPI_LOCALRANKID");
	int found;

	must("job attribute", PMI2_Info_GetJobAttr("PMI_process_mapping", got, sizeof got, &found));
	if (!found || strncmp(got, "(vector,", 8) != 0)
		die("PMI_process_mapping is \"%s\"", found ? got : "not there");
	must("job attribute", PMI2_Info_GetJobAttr("no such", got, sizeof got, &found));
	if (found)
		die("an attribute that does not exist is \"%s\"", got);
	must("job attribute", PMI2_Info_GetJobAttr("universeSize", got, sizeof got, &found));
	if (universe && strcmp(found ? got : "unknown", universe) != 0)
		die("the universe is %s, not %s", found ? got : "unknown", universe);
	must("node attribute", PMI2_Info_GetNodeAttr("nobody puts it", got, sizeof got, &found, 0));
	if (found)
		die("a node attribute that nobody put is \"%s\"", got);
	/* The first rank of each node puts what the others wait for. */
	if (local && strcmp(local, "0") == 0)
		must("put node attribute", PMI2_Info_PutNodeAttr("segment", "/dev/shm/x;y"));
	must("node attribute", PMI2_Info_GetNodeAttr("segment", got, sizeof got, &found, 1));
	if (!found || strcmp(got, "/dev/shm/x;y") != 0)
		die("the node attribute is \"%s\"", found ? got : "not there");
	must("node attribute", PMI2_Info_GetNodeAttr("no such", got, sizeof got, &found, 0));
	if (found)
		die("a node attribute that nobody put is \"%s\"", got);
}

/* names belong to all worlds of the job, so each has its own. */
static void names(void)
{
	char name[300], want[64], got[256];

	snprintf(name, sizeof name, "service %d of %s", rank, job);
	snprintf(want, sizeof want, "tag#%d$port;1", rank);
	must("publish", PMI2_Nameserv_publish(name, NULL, want));
	must("fence", PMI2_KVS_Fence());
	snprintf(name, sizeof name, "service %d of %s", (rank + 1) % size, job);
	snprintf(want, sizeof want, "tag#%d$port;1", (rank + 1) % size);
	must("lookup", PMI2_Nameserv_lookup(name, NULL, got, sizeof got));
	if (strcmp(got, want) != 0)
		die("%s is at \"%s\", expected \"%s\"", name, got, want);
	must("fence", PMI2_KVS_Fence());
	snprintf(name, sizeof name, "service %d of %s", rank, job);
	must("unpublish", PMI2_Nameserv_unpublish(name, NULL));
	if (PMI2_Nameserv_lookup(name, NULL, got, sizeof got) == PMI2_SUCCESS)
		die("%s was withdrawn, but is at \"%s\"", name, got);
}

static void ring(int round)
{
	char mine[64], want[64], left[256], right[256];
	int place, places;

	snprintf(mine, sizeof mine, "%d.%d;", round, rank);
	must("ring", PMIX_Ring(mine, &place, &places, left, right, sizeof left));
	if (place != rank || places != size)
		die("place %d of %d in the ring", place, places);
	snprintf(want, sizeof want, "%d.%d;", round, (rank + size - 1) % size);
	if (strcmp(left, want) != 0)
		die("the left neighbour is \"%s\", expected \"%s\"", left, want);
	snprintf(want, sizeof want, "%d.%d;", round, (rank + 1) % size);
	if (strcmp(right, want) != 0)
		die("the right neighbour is \"%s\", expected \"%s\"", right, want);
}

static const struct MPID_Info preput = {.key = "PARENT_ROOT_PORT_NAME", .value = "tag#0;port 1"};
static const struct MPID_Info hint = {.key = "wdir", .value = "/tmp"};

/* spawn starts this program anew, and then what is none. */
static void spawn(const char *self, int procs)
{
	const char *commands[] = {self, self}, *args[] = {"-c", NULL}, **argvs[] = {args, args};
	int argcs[] = {1, 1}, counts[] = {procs, 1}, infos[] = {1, 0}, *errors = calloc((size_t)procs + 1, sizeof *errors);
	const struct MPID_Info *hints[] = {&hint, NULL}, *preputs[] = {&preput};
	char id[256] = "";

	if (!errors)
		die("out of memory");
	must("spawn", PMI2_Job_Spawn(2, commands, argcs, argvs, counts, infos, hints, 1, preputs, id, sizeof id, errors));
	if (!*id || strcmp(id, job) == 0)
		die("the new world is called \"%s\", this one \"%s\"", id, job);
	for (int i = 0; i <= procs; i++)
		if (errors[i] != 0)
			die("process %d has error code %d", i, errors[i]);
	commands[0] = "/no/such/program";
	if (PMI2_Job_Spawn(1, commands, argcs, argvs, counts, infos, hints, 0, NULL, id, sizeof id, errors) == PMI2_SUCCESS)
		die("a program that does not exist was spawned");
	/* MPICH wants no name of the world: only the call's result is left then. */
	if (PMI2_Job_Spawn(1, commands, argcs, argvs, counts, infos, hints, 0, NULL, NULL, 0, errors) == PMI2_SUCCESS)
		die("a program that does not exist was spawned, without a name");
	free(errors);
}

/* child checks what a spawned process finds. */
static void child(int spawned)
{
	char got[PMI2_MAX_VALLEN], dir[256];
	int length;

	if (!spawned)
		die("was not spawned");
	must("get", PMI2_KVS_Get(job, PMI2_ID_NULL, preput.key, got, sizeof got, &length));
	if (strcmp(got, preput.value) != 0)
		die("%s is \"%s\"", preput.key, got);
	if (rank == 0 && strcmp(getcwd(dir, sizeof dir), hint.value) != 0)
		die("runs in %s", dir);
}

static void misbehave(const char *fault)
{
	if (strcmp(fault, "abort") == 0)
		PMI2_Abort(1, "out of cheese");
	if (strcmp(fault, "nofinalize") == 0)
		exit(0);
	die("unknown fault \"%s\"", fault);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void get_short(int r)
{
	char key[PMI2_MAX_KEYLEN], want[SHORT + 1], got[PMI2_MAX_VALLEN];
	int length;

	snprintf(key, sizeof key, "k%d", r);
	snprintf(want, sizeof want, "%0*d", SHORT, r);
	must("get", PMI2_KVS_Get(job, r, key, got, sizeof got, &length));
	if (strcmp(got, want) != 0)
		die("the value of rank %d is \"%s\", expected \"%s\"", r, got, want);
}

static void exchange(int all)
{
	char key[PMI2_MAX_KEYLEN], mine[SHORT + 1];
	long long begin, put, fenced, end;

	snprintf(key, sizeof key, "k%d", rank);
	snprintf(mine, sizeof mine, "%0*d", SHORT, rank);
	must("fence", PMI2_KVS_Fence());
	begin = now();
	must("put", PMI2_KVS_Put(key, mine));
	put = now();
	must("fence", PMI2_KVS_Fence());
	fenced = now();
	for (int i = 0; all && i < size; i++)
		get_short((rank + i) % size);
	if (!all) {
		get_short((rank + 1) % size);
		get_short((rank + size - 1) % size);
	}
	end = now();
	must("finalize", PMI2_Finalize());
	printf("rank %d times %lld %lld %lld %lld\n", rank, begin, put, fenced, end);
}

int main(int argc, char **argv)
{
	const char *fault = NULL, *mode = NULL;
	int rounds = 2, who = -1, procs = 0, spawnee = 0, spawned, appnum, c;

	while ((c = getopt(argc, argv, "n:s:cx:r:u:m:")) != -1) {
		switch (c) {
		case 'n': rounds = atoi(optarg); break;
		case 's': procs = atoi(optarg); break;
		case 'c': spawnee = 1; break;
		case 'x': fault = optarg; break;
		case 'r': who = atoi(optarg); break;
		case 'u': universe = optarg; break;
		case 'm': mode = optarg; break;
		default: return 2;
		}
	}
	must("init", PMI2_Init(&spawned, &size, &rank, &appnum));
	if (size == 1 && !getenv("PMI_FD"))
		die("PMI_FD is not set: start me with a launcher that speaks PMI-2");
	must("job id", PMI2_Job_GetId(job, sizeof job));
	if (mode) {
		exchange(strcmp(mode, "all") == 0);
		return 0;
	}
	if (spawnee)
		child(spawned);
	must("fence", PMI2_KVS_Fence());
	if (procs && rank == 0)
		spawn(argv[0], procs);
	if (fault && (who < 0 || who == rank))
		misbehave(fault);
	for (int i = 0; i < rounds; i++)
		do_round(i);
	attributes();
	names();
	for (int i = 0; i < rounds; i++)
		ring(i);
	must("finalize", PMI2_Finalize());
	if (spawnee)
		printf("app %d ", appnum);
	printf("rank %d of %d ok\n", rank, size);
	return 0;
}
