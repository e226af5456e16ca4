/* Worlds, as the agent describes them. */
#include "world.h"

#include <string.h>

/* blocks_hold says whether blocks are those of all ranks, in their order. */
static const char *blocks_hold(struct world *w)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < w->nblocks; i++) {
		const struct block *b = &w->blocks[i];

		if (b->host >= w->nhosts)
			return "a block is on no host";
		if (b->app >= w->napps)
			return "a block is of no app";
		if (b->first != size || b->count == 0)
			return "blocks are not in rank order";
		size += b->count;
		if (size > MOST_RANKS)
			return "it has too many ranks";
	}
	if (size == 0)
		return "it has no ranks";
	w->size = (uint32_t)size;
	return NULL;
}

/* peers writes the ranks of a host as a list. */
static char *peers(const struct host *h, struct arena *a)
{
	char *list = arena_take(a, h->size, sizeof "4294967295"), *at = list;

	for (uint32_t i = 0; i < h->size; i++) {
		char digits[sizeof "4294967295"];
		uint32_t n = h->ranks[i];
		int length = 0;

		do
			digits[length++] = (char)('0' + n % 10);
		while (n /= 10);
		if (i > 0)
			*at++ = ',';
		while (length > 0)
			*at++ = digits[--length];
	}
	return list;
}

/* settle finds out what follows from the blocks. */
static const char *settle(struct world *w, struct arena *a)
{
	w->ranks = arena_take(a, w->size, sizeof *w->ranks);
	for (uint32_t i = 0; i < w->nblocks; i++) {
		const struct block *b = &w->blocks[i];

		for (uint32_t j = 0; j < b->count; j++)
			w->ranks[b->first + j] = (struct rank){ b->app, b->host, w->hosts[b->host].size++, NULL };
	}
	for (uint32_t i = 0; i < w->nhosts; i++) {
		if (w->hosts[i].size == 0)
			return "a host holds no rank";
		if (strpbrk(w->hosts[i].name, ",;"))
			return "a host's name has a comma";
		w->hosts[i].ranks = arena_take(a, w->hosts[i].size, sizeof *w->hosts[i].ranks);
	}
	for (uint32_t i = 0; i < w->size; i++)
		w->hosts[w->ranks[i].host].ranks[w->ranks[i].local] = i;
	for (uint32_t i = 0; i < w->nhosts; i++) {
		w->hosts[i].leader = w->hosts[i].ranks[0];
		w->hosts[i].peers = peers(&w->hosts[i], a);
	}
	return NULL;
}

/* locals_hold says whether the local ranks are of this node. Those of another libpmix
 * are not among them. */
static const char *locals_hold(struct world *w)
{
	if (w->self >= (int64_t)w->nhosts || w->self < -1)
		return "this node is none of its hosts";
	for (uint32_t i = 0; i < w->nlocals; i++) {
		const struct local *l = &w->locals[i];

		if (l->rank >= w->size || (int64_t)w->ranks[l->rank].host != w->self)
			return "a local rank is not on this node";
		if (i > 0 && l->rank <= w->locals[i - 1].rank)
			return "local ranks are not in their order";
		w->ranks[l->rank].cpus = l->cpus;
	}
	return NULL;
}

const char *world_read(struct world *w, struct reader *r, struct arena *a)
{
	const char *wrong;

	memset(w, 0, sizeof *w);
	w->nspace = read_text(r);
	w->universe = read_u32(r);
	w->nhosts = read_u32(r);
	w->hosts = arena_take(a, w->nhosts, sizeof *w->hosts);
	for (uint32_t i = 0; i < w->nhosts; i++)
		w->hosts[i].name = read_text(r);
	w->napps = read_u32(r);
	w->apps = arena_take(a, w->napps, sizeof *w->apps);
	for (uint32_t i = 0; i < w->napps; i++) {
		struct app *app = &w->apps[i];

		app->size = read_u32(r);
		app->first = read_u32(r);
		app->nargv = read_u32(r);
		app->argv = arena_take(a, app->nargv, sizeof *app->argv);
		for (uint32_t j = 0; j < app->nargv; j++)
			app->argv[j] = read_text(r);
		app->dir = read_text(r);
	}
	w->nblocks = read_u32(r);
	w->blocks = arena_take(a, w->nblocks, sizeof *w->blocks);
	for (uint32_t i = 0; i < w->nblocks; i++) {
		struct block *b = &w->blocks[i];

		b->first = read_u32(r);
		b->count = read_u32(r);
		b->host = read_u32(r);
		b->app = read_u32(r);
	}
	read_proc(r, &w->parent);
	w->self = (int32_t)read_u32(r);
	w->nlocals = read_u32(r);
	w->locals = arena_take(a, w->nlocals, sizeof *w->locals);
	for (uint32_t i = 0; i < w->nlocals; i++) {
		w->locals[i].rank = read_u32(r);
		w->locals[i].cpus = read_text(r);
	}
	w->dir = read_text(r);
	w->uid = read_u32(r);
	w->gid = read_u32(r);

	wrong = blocks_hold(w);
	if (!wrong)
		wrong = settle(w, a);
	if (!wrong)
		wrong = locals_hold(w);
	return wrong;
}
