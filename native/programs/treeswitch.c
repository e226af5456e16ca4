/*
 * treeswitch: ranks below the same switches find each other, as an example and a test.
 *
 *   golaunch --topology FILE -f hosts treeswitch
 *
 * At each depth of the network the world is split by switch cluster, and the lowest
 * rank of each communicator prints its members:
 *
 *   depth 2: 2 clusters
 *   depth 2: ranks 0 1 2 3
 *   depth 2: ranks 4 5 6 7
 */
#include <stdio.h>
#include <stdlib.h>

#include "golaunch.h"

static int me = -1;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "treeswitch: rank %d: %s: %s\n", me, what, why);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc < 0)
		die(what, golaunch_error());
}

/* show splits the world at a depth, and prints who is together. */
static void show(golaunch_job *job, golaunch_comm *world, int depth)
{
	int clusters = golaunch_switch_clusters(job, depth), mine = golaunch_switch_cluster(job, me, depth);
	int *members = calloc((size_t)golaunch_size(world), sizeof *members);
	golaunch_comm *near;

	must("clusters", clusters);
	must("cluster", mine);
	if (!members)
		die("memory", "there is none");
	must("split", golaunch_split(world, mine, me, &near));
	must("gather", golaunch_gather(near, 0, &me, members, sizeof me));
	if (me == 0)
		printf("depth %d: %d cluster%s\n", depth, clusters, clusters == 1 ? "" : "s");
	if (golaunch_rank(near) == 0) {
		printf("depth %d: ranks", depth);
		for (int i = 0; i < golaunch_size(near); i++) {
			/* Every rank can be asked for. */
			int theirs = golaunch_switch_cluster(job, members[i], depth);

			must("cluster of another", theirs);
			if (theirs != mine)
				die("cluster of another", "not that of its communicator");
			printf(" %d", members[i]);
		}
		putchar('\n');
	}
	must("free", golaunch_comm_free(&near));
	free(members);
}

int main(void)
{
	golaunch_job *job = golaunch_open();
	golaunch_comm *world;
	int depth;

	if (!job)
		die("open", golaunch_error());
	world = golaunch_world(job);
	me = golaunch_rank(world);
	depth = golaunch_network_depth(job);
	if (depth == 0 && me == 0)
		puts("no network is known; name it with golaunch --topology");
	for (int d = 1; d <= depth; d++)
		show(job, world, d);
	if (golaunch_switch_cluster(job, me, depth + 1) != -1 || golaunch_switch_clusters(job, 0) != -1)
		die("depth", "one that is not there has clusters");
	golaunch_close(job);
	return 0;
}
