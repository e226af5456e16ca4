/*
 * fences: a client of one protocol, by which the last rank does not enter a fence that
 * the others wait in. It is built once for each protocol, as fences.PROTOCOL: pmi1 (without
 * a library), pmi2 (Slurm's), pmix, tree (libgolaunch).
 *
 *   fences WAY FENCES
 *
 * All enter FENCES fences, and another one, which the last rank does not come to. WAY is
 * how it leaves: killed; exit0 and exit1, without a word; finalized, in order. Or it is
 * late: it says "stops PID", stops itself, and comes when it is continued. The others say
 * "rank R: fence ok" or "rank R: fence failed: WHY", finalize and exit 0. All is said on
 * standard error.
 */
#if defined(PMI1)
#include "pmi1.h"

#include <signal.h>

static const char *why;

static void begin(void)
{
	(void)barrier; /* ends the process if it fails */
	init();
}

static int fence(void)
{
	const char *line = ask("barrier_out", "cmd=barrier_in\n"), *rc = field(line, "rc");

	return why = line, rc && strcmp(rc, "0") != 0;
}

static void end(void) { ask("finalize_ack", "cmd=finalize\n"); }
#else
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static const char *why = "the library says no more";

static void must(int bad, const char *what)
{
	if (bad) {
		fprintf(stderr, "fences: rank %d: %s failed\n", rank, what);
		exit(2);
	}
}
#if defined(PMI2)
#include <slurm/pmi2.h>

static void begin(void)
{
	int spawned, app;

	must(PMI2_Init(&spawned, &size, &rank, &app) != PMI2_SUCCESS, "init");
}

static int fence(void) { return PMI2_KVS_Fence() != PMI2_SUCCESS; }
static void end(void) { must(PMI2_Finalize() != PMI2_SUCCESS, "finalize"); }
#elif defined(PMIX)
#include <pmix.h>

static pmix_proc_t self;

static void begin(void)
{
	pmix_value_t *value;
	pmix_proc_t all;

	must(PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS, "init");
	all = self;
	all.rank = PMIX_RANK_WILDCARD;
	must(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS, "get");
	rank = (int)self.rank;
	size = (int)value->data.uint32;
	PMIX_VALUE_RELEASE(value);
}

static int fence(void) { return PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS; }
static void end(void) { PMIx_Finalize(NULL, 0); }
#else
#include "golaunch.h"

static golaunch_job *job;

static void begin(void)
{
	job = golaunch_open();
	must(!job, "open");
	rank = golaunch_rank(golaunch_world(job));
	size = golaunch_size(golaunch_world(job));
}

static int fence(void)
{
	int bad = golaunch_fence(job);

	return why = golaunch_error(), bad;
}

static void end(void) { golaunch_close(job); }
#endif
#endif

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int bad = 0;

	begin();
	for (int n = argc > 2 ? atoi(argv[2]) : 0; n > 0; n--)
		bad |= fence();
	if (bad)
		return 2;
	if (rank == size - 1) {
		if (strcmp(way, "killed") == 0)
			raise(SIGKILL);
		if (strcmp(way, "exit0") == 0)
			_exit(0);
		if (strcmp(way, "exit1") == 0)
			_exit(1);
		if (strcmp(way, "finalized") == 0) {
			end();
			return 0;
		}
		fprintf(stderr, "stops %d\n", (int)getpid());
		raise(SIGSTOP);
	}
	bad = fence();
	fprintf(stderr, bad ? "rank %d: fence failed: %s\n" : "rank %d: fence ok\n", rank, why);
	end();
	return 0;
}
