/* A world as the agent describes it, and what follows from that for each rank and host. */
#ifndef GOLAUNCH_PMIX_WORLD_H
#define GOLAUNCH_PMIX_WORLD_H

#include "infos.h"

enum { MOST_RANKS = 1 << 22 };

struct app {
	uint32_t size, first, nargv;
	char **argv, *dir;
};

struct block {
	uint32_t first, count, host, app;
};

struct local {
	uint32_t rank;
	char *cpus;
};

struct host {
	char *name, *peers; /* ranks, as "0,1,2" */
	uint32_t size, leader;
	uint32_t *ranks; /* ascending */
};

struct rank {
	uint32_t app, host, local; /* local: its number among the ranks of its host */
	const char *cpus;          /* NULL if it is not known here */
};

struct world {
	char *nspace, *dir;
	uint32_t universe, nhosts, napps, nblocks, nlocals, size;
	struct host *hosts;
	struct app *apps;
	struct block *blocks;
	struct local *locals;
	struct rank *ranks;
	struct px_proc parent; /* no namespace: nobody */
	int32_t self;
	uint32_t uid, gid;
};

/* world_read reads a checked body of KIND_WORLD into memory of an arena, and of the
 * body itself. It returns NULL, or what cannot be. */
const char *world_read(struct world *w, struct reader *r, struct arena *a);

#endif
