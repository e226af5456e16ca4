/* Worlds and their local ranks are registered with the library. */
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "queue.h"
#include "server.h"
#include "world.h"

/* joined writes texts one behind the other, with a separator between. */
static char *joined(struct arena *a, char **texts, size_t n, char separator)
{
	size_t room = 1;
	char *all, *at;

	for (size_t i = 0; i < n; i++)
		room += strlen(texts[i]) + 1;
	all = at = arena_take(a, room, 1);
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(texts[i]);

		if (i > 0)
			*at++ = separator;
		memcpy(at, texts[i], length);
		at += length;
	}
	return all;
}

/* topology_loaded has the library load the node's topology, which it needs to tell where
 * CPUs are, at the first call alone. It returns false where the library can't. */
static bool topology_loaded(void)
{
	static struct px_topology topology; /* the library's, to the end of the process */
	static bool tried;

	if (!tried && px.Load_topology && px.Load_topology(&topology) != PX_SUCCESS)
		topology.topology = NULL;
	tried = true;
	return topology.topology;
}

/* locality finds what the library says of where CPUs are: NULL where it can't. */
static char *locality(struct arena *a, const char *cpus)
{
	struct px_cpuset set = { 0 };
	char *found = NULL, *copy = NULL;
	char *source = arena_text(a, "hwloc:%s", cpus); /* the library writes into it */

	if (!px.Parse_cpuset_string || !px.server_generate_locality_string || !topology_loaded())
		return NULL;
	if (px.Parse_cpuset_string(source, &set) != PX_SUCCESS)
		return NULL;
	if (px.server_generate_locality_string(&set, &found) == PX_SUCCESS && found)
		copy = arena_text(a, "%s", found);
	free(found);
	if (px.Cpuset_destruct)
		px.Cpuset_destruct(&set);
	return copy;
}

/* The library's maps of the hosts and their ranks. The caller frees it. */
struct maps {
	char *nodes, *procs;
};

/* make_maps adds which hosts there are, and the ranks of each. It returns a status. */
static int make_maps(struct maps *m, struct infos *job, const struct world *w)
{
	char **names = arena_take(job->arena, w->nhosts, sizeof *names);
	char **peers = arena_take(job->arena, w->nhosts, sizeof *peers);
	char *hosts;
	int status;

	for (uint32_t i = 0; i < w->nhosts; i++) {
		names[i] = w->hosts[i].name;
		peers[i] = w->hosts[i].peers;
	}
	hosts = joined(job->arena, names, w->nhosts, ',');
	status = px.generate_regex(hosts, &m->nodes);
	if (status == PX_SUCCESS)
		status = px.generate_ppn(joined(job->arena, peers, w->nhosts, ';'), &m->procs);
	if (status != PX_SUCCESS)
		return status;
	add_text(job, KEY_NODE_LIST, hosts);
	add_regex(job, KEY_NODE_MAP, m->nodes);
	add_regex(job, KEY_PROC_MAP, m->procs);
	return status;
}

/* whole adds what holds for all ranks. */
static void whole(struct infos *job, struct world *w)
{
	char **sizes = arena_take(job->arena, w->napps, sizeof *sizes);
	char **firsts = arena_take(job->arena, w->napps, sizeof *firsts);

	add_text(job, KEY_JOBID, w->nspace);
	add_u32(job, KEY_UNIV_SIZE, w->universe);
	add_u32(job, KEY_MAX_PROCS, w->universe > w->size ? w->universe : w->size);
	add_u32(job, KEY_JOB_SIZE, w->size);
	add_u32(job, KEY_JOB_NUM_APPS, w->napps);
	add_u32(job, KEY_NUM_NODES, w->nhosts);
	add_u32(job, KEY_NPROC_OFFSET, 0);
	add_bool(job, KEY_SPAWNED, w->parent.nspace[0]);
	if (w->parent.nspace[0])
		add_proc(job, KEY_PARENT_ID, &w->parent);
	for (uint32_t i = 0; i < w->napps; i++) {
		sizes[i] = arena_text(job->arena, "%u", w->apps[i].size);
		firsts[i] = arena_text(job->arena, "%u", w->apps[i].first);
	}
	add_text(job, KEY_OMPI_APP_SIZES, joined(job->arena, sizes, w->napps, ' '));
	add_text(job, KEY_OMPI_FIRST_RANKS, joined(job->arena, firsts, w->napps, ' '));
}

/* here adds what holds for this node. */
static void here(struct infos *job, struct world *w)
{
	const struct host *host = &w->hosts[w->self];

	add_text(job, KEY_TMPDIR, server.dir);
	add_text(job, KEY_NSDIR, w->dir);
	add_bool(job, KEY_TDIR_RMCLEAN, true); /* the agent removes them */
	add_u32(job, KEY_LOCAL_SIZE, host->size);
	add_u32(job, KEY_NODE_SIZE, host->size);
	add_text(job, KEY_LOCAL_PEERS, host->peers);
	add_rank(job, KEY_LOCALLDR, host->leader);
	add_u32(job, KEY_NODEID, (uint32_t)w->self);
}

static void nodes(struct infos *job, const struct world *w)
{
	for (uint32_t i = 0; i < w->nhosts; i++) {
		const struct host *h = &w->hosts[i];
		struct infos node = { .arena = job->arena };

		add_text(&node, KEY_HOSTNAME, h->name);
		add_u32(&node, KEY_NODEID, i);
		add_u32(&node, KEY_NODE_SIZE, h->size);
		add_u32(&node, KEY_LOCAL_SIZE, h->size);
		add_rank(&node, KEY_LOCALLDR, h->leader);
		add_text(&node, KEY_LOCAL_PEERS, h->peers);
		add_array(job, KEY_NODE_INFO_ARRAY, PX_INFO, node.list, node.n);
	}
}

static void apps(struct infos *job, const struct world *w)
{
	for (uint32_t i = 0; i < w->napps; i++) {
		const struct app *a = &w->apps[i];
		struct infos app = { .arena = job->arena };

		add_u32(&app, KEY_APPNUM, i);
		add_u32(&app, KEY_APP_SIZE, a->size);
		add_rank(&app, KEY_APPLDR, a->first);
		add_text(&app, KEY_WDIR, a->dir);
		add_text(&app, KEY_APP_ARGV, joined(job->arena, a->argv, a->nargv, ' '));
		add_array(job, KEY_APP_INFO_ARRAY, PX_INFO, app.list, app.n);
	}
}

static void procs(struct infos *job, struct world *w)
{
	for (uint32_t i = 0; i < w->size; i++) {
		const struct rank *r = &w->ranks[i];
		const struct host *host = &w->hosts[r->host];
		const char *cpus = r->cpus ? r->cpus : "";
		struct infos proc = { .arena = job->arena };

		add_rank(&proc, KEY_RANK, i); /* the first has to be this */
		add_rank(&proc, KEY_GLOBAL_RANK, i);
		add_rank(&proc, KEY_APP_RANK, i - w->apps[r->app].first);
		add_u32(&proc, KEY_APPNUM, r->app);
		add_u16(&proc, KEY_LOCAL_RANK, (uint16_t)r->local);
		add_u16(&proc, KEY_NODE_RANK, (uint16_t)r->local);
		add_u32(&proc, KEY_NODEID, r->host);
		add_text(&proc, KEY_HOSTNAME, host->name);
		add_u32(&proc, KEY_REINCARNATION, 0);
		if (w->parent.nspace[0])
			add_proc(&proc, KEY_PARENT_ID, &w->parent);
		if (cpus[0]) {
			char *where = locality(job->arena, cpus);

			add_text(&proc, KEY_CPUSET, arena_text(job->arena, "hwloc:%s", cpus));
			if (where)
				add_text(&proc, KEY_LOCALITY_STRING, where);
		}
		add_array(job, KEY_PROC_DATA, PX_INFO, proc.list, proc.n);
	}
}

/* environment writes what a local rank needs in its environment, as a list of texts. It
 * returns a status. */
static int environment(struct out *o, const struct px_proc *proc)
{
	uint32_t n = 0;
	char **env = NULL;
	int status = px.server_setup_fork(proc, &env);

	while (env && env[n])
		n++;
	out_u32(o, n);
	for (uint32_t i = 0; i < n; i++) {
		out_text(o, env[i]);
		free(env[i]);
	}
	free(env);
	return status;
}

static bool good(int status)
{
	return status == PX_SUCCESS || status == PX_OPERATION_SUCCEEDED;
}

/* register_job registers a world. It returns a status, and in *what the call that
 * failed. */
static int register_job(struct world *w, struct arena *a, const char **what)
{
	struct infos job = { .arena = a };
	struct maps m = { 0 };
	int status = make_maps(&m, &job, w);

	*what = "its map of ranks can't be made";
	if (status == PX_SUCCESS) {
		whole(&job, w);
		if (w->self >= 0)
			here(&job, w);
		nodes(&job, w);
		apps(&job, w);
		procs(&job, w);
		*what = "PMIx_server_register_nspace failed";
		status = px.server_register_nspace(w->nspace, (int)w->nlocals, job.list, job.n, NULL, NULL);
	}
	free(m.nodes);
	free(m.procs);
	return status;
}

/* register_locals registers the local ranks, and writes their environments. */
static int register_locals(const struct world *w, struct out *envs, const char **what)
{
	struct px_proc proc = { 0 };
	int status = PX_SUCCESS;

	out_u32(envs, w->nlocals);
	memcpy(proc.nspace, w->nspace, strlen(w->nspace));
	for (uint32_t i = 0; i < w->nlocals && good(status); i++) {
		proc.rank = w->locals[i].rank;
		*what = "PMIx_server_register_client failed";
		status = px.server_register_client(&proc, w->uid, w->gid, NULL, NULL, NULL);
		if (!good(status))
			return status;
		*what = "PMIx_server_setup_fork failed";
		status = environment(envs, &proc);
	}
	return status;
}

void register_world(const struct frame *f)
{
	struct reader r = { f->body };
	struct arena a = { 0 };
	struct out o, envs = { 0 };
	struct world w;
	const char *what = world_read(&w, &r, &a);
	int status = PX_ERR_BAD_PARAM;

	if (!what && known_size(w.nspace))
		what = "it is registered already";
	else if (!what)
		status = register_job(&w, &a, &what);
	if (good(status))
		status = register_locals(&w, &envs, &what);
	out_begin(&o, KIND_REGISTERED, f->request);
	out_u32(&o, (uint32_t)(good(status) ? PX_SUCCESS : status));
	if (good(status)) {
		known_add(w.nspace, w.size);
		out_text(&o, "");
		out_bytes(&o, envs.bytes, envs.n);
	} else {
		out_text(&o, arena_text(&a, "world %s: %s: %s", w.nspace, what, px.Error_string(status)));
		out_u32(&o, 0);
	}
	free(envs.bytes);
	if (!queue_send(&o))
		die("the environments of world %s are longer than a message may be", w.nspace);
	arena_free(&a);
}
