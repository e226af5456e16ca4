/* Switch clusters of the network between the job's hosts. */
#include <stdlib.h>

#include "internal.h"

/* numbers reads what is told of clusters, a number for each depth, into list, of room
 * for so many; it returns how many there are. */
static int numbers(const unsigned char *b, size_t length, int *list, int room)
{
	int n = 0;

	for (size_t at = 0; at < length; n++) {
		uint64_t v;

		if (golaunch__number(b, length, &at, &v) || v > INT32_MAX || n >= room)
			return golaunch__fail("the agent's switch clusters are malformed");
		list[n] = (int)v;
	}
	return n;
}

int golaunch__clusters(golaunch_job *job, const struct record *r)
{
	job->depth = numbers(r->body, r->length, job->clusters, MAX_DEPTH);
	return job->depth < 0 ? -1 : 0;
}

int golaunch_network_depth(const golaunch_job *job) { return job ? job->depth : golaunch__no_job("golaunch_network_depth"); }

/* missing says that the network has no such depth. */
static int missing(const golaunch_job *job, int depth)
{
	if (!job)
		return golaunch__no_job("switch clusters");
	if (job->depth == 0)
		return golaunch__fail("no network is known, and so no switch cluster; golaunch --topology names it");
	if (depth < 1 || depth > job->depth)
		return golaunch__fail("switch clusters at depth %d of a network of depth %d", depth, job->depth);
	return 0;
}

int golaunch_switch_clusters(const golaunch_job *job, int depth)
{
	return missing(job, depth) ? -1 : job->clusters[depth - 1];
}

int golaunch_switch_cluster(golaunch_job *job, int rank, int depth)
{
	int list[MAX_DEPTH], n;
	golaunch_request *q;
	char *told;
	size_t length;

	if (missing(job, depth))
		return -1;
	if (rank < 0 || rank >= job->size)
		return golaunch__fail("the switch cluster of rank %d of a world of %d", rank, job->size);
	q = golaunch__other("switch cluster", job, &(struct record){.kind = CLUSTER, .dst = rank});
	if (!q)
		return -1;
	while (!q->done)
		golaunch__progress(job);
	told = q->value;
	q->value = NULL;
	length = (size_t)q->got;
	if (golaunch__end(q, NULL)) {
		free(told);
		return -1;
	}
	n = numbers((unsigned char *)told, length, list, MAX_DEPTH);
	free(told);
	if (n != job->depth)
		return n < 0 ? -1 : golaunch__fail("the agent told of switch clusters at %d depths of %d", n, job->depth);
	return list[depth - 1];
}
