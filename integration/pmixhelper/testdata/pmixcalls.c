/*
 * pmixcalls: calls of PMIx that no MPI makes, or not alone, for tests.
 *
 *   pmixcalls event    the last rank tells all of an event; all wait for it
 *   pmixcalls group    all make a group and end it
 *   pmixcalls query    each asks which namespaces there are, and their sizes
 *   pmixcalls log      rank 0 has text shown
 *   pmixcalls abort    rank 0 aborts with 37 and a text
 *   pmixcalls values   rank 0 publishes a number and a text, the last rank waits for
 *                      them; then rank 0 takes one back
 *   pmixcalls place    rank 0 prints what it knows of itself, its world and the last rank
 *   pmixcalls vanish   each ends without PMIx_Finalize
 *
 * Prints "rank R ok".
 */
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;
static uint32_t size;

static void check(pmix_status_t rc, const char *what)
{
	if (rc == PMIX_SUCCESS)
		return;
	fprintf(stderr, "pmixcalls: rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(rc));
	exit(1);
}

static void must(int so, const char *what)
{
	check(so ? PMIX_SUCCESS : PMIX_ERROR, what);
}

static void fence(void)
{
	check(PMIx_Fence(NULL, 0, NULL, 0), "fence");
}

enum { EVENT = PMIX_EXTERNAL_ERR_BASE - 7 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int registered, heard;
static char said[64];
static uint32_t source = UINT32_MAX, affected = UINT32_MAX;

static void add(int *what)
{
	pthread_mutex_lock(&lock);
	++*what;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void await(int *what)
{
	pthread_mutex_lock(&lock);
	while (!*what)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void hear(size_t id, pmix_status_t status, const pmix_proc_t *from, pmix_info_t info[], size_t ninfo,
		 pmix_info_t *results, size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *with)
{
	(void)id, (void)status, (void)results, (void)nresults;
	source = from->rank;
	for (size_t i = 0; i < ninfo; i++) {
		if (PMIX_CHECK_KEY(&info[i], "golaunch.said"))
			snprintf(said, sizeof said, "%s", info[i].value.data.string);
		if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
			affected = info[i].value.data.proc->rank;
	}
	printf("rank %u hears of %u's event\n", self.rank, source);
	fflush(stdout);
	done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, with);
	add(&heard);
}

static void know(pmix_status_t status, size_t id, void *with)
{
	(void)id, (void)with;
	check(status, "handler");
	add(&registered);
}

static void event(void)
{
	pmix_status_t code = EVENT;
	pmix_info_t infos[2];
	pmix_proc_t victim = self;

	PMIx_Register_event_handler(&code, 1, NULL, 0, hear, know, NULL);
	await(&registered);
	fence();
	if (self.rank == size - 1) {
		victim.rank = 0;
		PMIX_INFO_LOAD(&infos[0], "golaunch.said", "something", PMIX_STRING);
		PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_AFFECTED_PROC, &victim, PMIX_PROC);
		check(PMIx_Notify_event(EVENT, &self, PMIX_RANGE_GLOBAL, infos, 2, NULL, NULL), "notify");
	}
	await(&heard);
	must(source == size - 1 && affected == 0 && strcmp(said, "something") == 0, "the event is another");
}

static void group(void)
{
	pmix_proc_t all = self;
	pmix_info_t wants, *results = NULL;
	size_t nresults = 0, context = 0;

	all.rank = PMIX_RANK_WILDCARD;
	PMIX_INFO_LOAD(&wants, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
	check(PMIx_Group_construct("everybody", &all, 1, &wants, 1, &results, &nresults), "group");
	for (size_t i = 0; i < nresults; i++) {
		if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
			context = results[i].value.data.size;
	}
	must(context == 8, "the group's number is another");
	check(PMIx_Group_destruct("everybody", NULL, 0), "end of the group");
}

static void query(void)
{
	pmix_query_t queries[2];
	pmix_info_t *results = NULL;
	size_t nresults = 0;
	int named = 0, counted = 0;
	pmix_info_t of;
	char *names[] = {PMIX_QUERY_NAMESPACES, NULL}, *sizes[] = {PMIX_JOB_SIZE, NULL};
	char *strange[] = {"golaunch.nobody.knows", NULL};

	for (int i = 0; i < 2; i++)
		PMIX_QUERY_CONSTRUCT(&queries[i]);
	queries[0].keys = names;
	queries[1].keys = sizes;
	PMIX_INFO_LOAD(&of, PMIX_NSPACE, self.nspace, PMIX_STRING);
	queries[1].qualifiers = &of;
	queries[1].nqual = 1;
	check(PMIx_Query_info(queries, 2, &results, &nresults), "query");
	for (size_t i = 0; i < nresults; i++) {
		if (PMIX_CHECK_KEY(&results[i], PMIX_QUERY_NAMESPACES))
			named = strstr(results[i].value.data.string, self.nspace) != NULL;
		if (PMIX_CHECK_KEY(&results[i], PMIX_JOB_SIZE))
			counted = results[i].value.data.uint32 == size;
	}
	must(named && counted, "what was asked is not known");
	queries[1].keys = strange;
	must(PMIx_Query_info(&queries[1], 1, &results, &nresults) != PMIX_SUCCESS, "what nobody knows is known");
}

static void show(void)
{
	pmix_info_t text;

	PMIX_INFO_LOAD(&text, PMIX_LOG_STDERR, "look here\n", PMIX_STRING);
	if (self.rank == 0)
		check(PMIx_Log(&text, 1, NULL, 0), "log");
}

static void values(void)
{
	pmix_info_t infos[2], wait;
	pmix_pdata_t found[2];
	uint32_t number = 12345;
	char *keys[] = {"golaunch number", NULL};

	memset(found, 0, sizeof found);
	strcpy(found[0].key, "golaunch number");
	strcpy(found[1].key, "golaunch text");
	if (self.rank == 0) {
		usleep(1000); /* mostly the other one waits then */
		PMIX_INFO_LOAD(&infos[0], "golaunch number", &number, PMIX_UINT32);
		PMIX_INFO_LOAD(&infos[1], "golaunch text", "text", PMIX_STRING);
		check(PMIx_Publish(infos, 2), "publish");
	}
	if (self.rank == size - 1) {
		PMIX_INFO_LOAD(&wait, PMIX_WAIT, NULL, PMIX_INT);
		wait.value.data.integer = 0;
		check(PMIx_Lookup(found, 2, &wait, 1), "lookup");
		must(found[0].proc.rank == 0 && found[0].value.data.uint32 == number, "another number");
		must(strcmp(found[1].value.data.string, "text") == 0, "another text");
	}
	fence();
	if (self.rank == 0)
		check(PMIx_Unpublish(keys, NULL, 0), "unpublish");
	fence();
	must(PMIx_Lookup(found, 1, NULL, 0) != PMIX_SUCCESS, "what was taken back is found");
	check(PMIx_Lookup(&found[1], 1, NULL, 0), "lookup of the rest");
}

static void print(const char *name, const pmix_proc_t *of, const char *key)
{
	pmix_value_t *value;
	pmix_status_t rc = PMIx_Get(of, key, NULL, 0, &value);

	if (rc != PMIX_SUCCESS)
		printf("%s: %s\n", name, PMIx_Error_string(rc));
	else if (value->type == PMIX_STRING)
		printf("%s: %s\n", name, value->data.string);
	else if (value->type == PMIX_UINT16)
		printf("%s: %u\n", name, value->data.uint16);
	else
		printf("%s: %u\n", name, value->data.uint32);
}

static void place(const pmix_proc_t *world)
{
	pmix_proc_t last = self, *peers;
	size_t n;

	last.rank = size - 1;
	if (self.rank != 0)
		return;
	print("universe", world, PMIX_UNIV_SIZE);
	print("apps", world, PMIX_JOB_NUM_APPS);
	print("nodes", world, PMIX_NUM_NODES);
	print("local size", world, PMIX_LOCAL_SIZE);
	print("local peers", world, PMIX_LOCAL_PEERS);
	print("app's sizes", world, "OMPI_APP_SIZES");
	print("cpus", &self, PMIX_CPUSET);
	print("locality", &self, PMIX_LOCALITY_STRING);
	print("last's host", &last, PMIX_HOSTNAME);
	print("last's local rank", &last, PMIX_LOCAL_RANK);
	print("last's app", &last, PMIX_APPNUM);
	check(PMIx_Resolve_peers("node1", self.nspace, &peers, &n), "peers");
	printf("on node1: %zu from %u\n", n, peers[0].rank);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pmix_proc_t world;
	pmix_value_t *value;

	check(PMIx_Init(&self, NULL, 0), "init");
	world = self;
	world.rank = PMIX_RANK_WILDCARD;
	check(PMIx_Get(&world, PMIX_JOB_SIZE, NULL, 0, &value), "size");
	size = value->data.uint32;
	fence();
	if (strcmp(what, "event") == 0)
		event();
	else if (strcmp(what, "group") == 0)
		group();
	else if (strcmp(what, "query") == 0)
		query();
	else if (strcmp(what, "log") == 0)
		show();
	else if (strcmp(what, "values") == 0)
		values();
	else if (strcmp(what, "place") == 0)
		place(&world);
	else if (strcmp(what, "vanish") == 0)
		_exit(0);
	else if (strcmp(what, "abort") == 0 && self.rank == 0)
		PMIx_Abort(37, "this is the end", NULL, 0);
	fence();
	printf("rank %u ok\n", self.rank);
	fflush(stdout);
	check(PMIx_Finalize(NULL, 0), "finalize");
	return 0;
}
