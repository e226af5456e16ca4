/* Queries, which the helper answers by itself: which namespaces there are, and how many
 * ranks they have. */
#include <stdlib.h>
#include <string.h>

#include "infos.h"
#include "keys.h"
#include "queue.h"
#include "server.h"

struct found {
	struct arena arena;
	struct infos infos;
	int status;
	px_info_fn *done;
	void *with;
};

static void release(void *with)
{
	struct found *f = with;

	arena_free(&f->arena);
	free(f);
}

static void tell(void *with)
{
	struct found *f = with;

	f->done(f->status, f->infos.list, f->infos.n, f->with, release, f);
}

/* answer_key answers one key of a query, if it can. */
static bool answer_key(struct infos *infos, const struct px_proc *proc, const struct px_query *q, const char *key)
{
	const struct px_info *of = info_find(q->qualifiers, q->nqual, KEY_NSPACE);

	if (strcmp(key, KEY_QUERY_NAMESPACES) == 0) {
		char *names = known_names();

		add_text(infos, KEY_QUERY_NAMESPACES, arena_text(infos->arena, "%s", names));
		free(names);
		return true;
	}
	if (strcmp(key, KEY_JOB_SIZE) == 0) {
		bool said = of && of->value.type == PX_STRING && of->value.data.string;
		uint32_t size = known_size(said ? of->value.data.string : proc->nspace);

		if (size > 0)
			add_u32(infos, KEY_JOB_SIZE, size);
		return size > 0;
	}
	return false;
}

int query(struct px_proc *proc, struct px_query *queries, size_t n, px_info_fn *done, void *with)
{
	struct found *f = take(1, sizeof *f);
	size_t asked = 0;

	*f = (struct found){ .done = done, .with = with, .status = PX_SUCCESS };
	f->infos.arena = &f->arena;
	for (size_t i = 0; i < n; i++) {
		for (char **key = queries[i].keys; key && *key; key++, asked++)
			answer_key(&f->infos, proc, &queries[i], *key);
	}
	if (f->infos.n == 0) {
		release(f);
		return PX_ERR_NOT_SUPPORTED;
	}
	if (f->infos.n < asked)
		f->status = PX_ERR_PARTIAL_SUCCESS;
	queue_later(tell, f);
	return PX_SUCCESS;
}
