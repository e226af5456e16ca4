/* Counts elsewhere than in rows: of collective operations in records of the pool,
 * and of persistent requests when they are started. */
#include "book.h"

#include <stdlib.h>

/* entry leads to the record of a collective operation of a communicator. */
struct entry {
	uint64_t id;
	int op, root, class;
	uint64_t *counters;
};

static struct entry *entries; /* open addressing; its room is a power of two */
static unsigned num_entries, room;

static struct entry *entry_of(uint64_t id, int op, int root, int class)
{
	uint64_t at = (id + (uint64_t)op * 40503u + (uint64_t)(unsigned)root * 2654435761u + (uint64_t)class) * 0x9e3779b97f4a7c15ull >> 32;

	for (;; at++) {
		struct entry *e = &entries[at & (room - 1)];

		if (!e->op || (e->id == id && e->op == op && e->root == root && e->class == class))
			return e;
	}
}

/* grow makes room for one more entry; 0 if there is no memory. */
static int grow(void)
{
	struct entry *old = entries;
	unsigned before = room;

	if (2 * num_entries < room)
		return 1;
	entries = calloc(before ? 2 * before : 64, sizeof *entries);
	if (!entries) {
		entries = old;
		return 0;
	}
	room = before ? 2 * before : 64;
	for (unsigned i = 0; i < before; i++)
		if (old[i].op)
			*entry_of(old[i].id, old[i].op, old[i].root, old[i].class) = old[i];
	free(old);
	return 1;
}

/* record takes a record of the pool; NULL if there is none left. */
static uint64_t *record(uint64_t op, uint64_t id, int low, int high)
{
	uint64_t n = __atomic_fetch_add(&header[HEADER_NEXT], 1, __ATOMIC_RELAXED);
	uint64_t *r = pool + n * RECORD_WORDS;

	if (n >= header[HEADER_CAPACITY])
		return NULL;
	r[RECORD_COMM] = id;
	r[RECORD_WHAT] = (uint64_t)(unsigned)low | (uint64_t)(unsigned)high << 32;
	__atomic_store_n(&r[RECORD_WHOSE], (uint64_t)(unsigned)(slot + 1) | op << 32, __ATOMIC_RELEASE);
	return r;
}

enum { OP_MEMBER = 255 }; /* stands for the communicator itself among the entries */

/* collective counts a call. Sizes within a factor of 16 share a record. */
uint64_t *collective(struct plan *plan, enum operation op, struct peers *p, int root, uint64_t size, uint64_t bytes)
{
	int class = size ? (67 - __builtin_clzll(size)) / 4 : 0;
	uint64_t *counters = NULL;
	struct entry *e;

	if (!header || book.head == nowhere)
		return NULL;
	if (!p->inter && (root < -1 || root >= p->size))
		return NULL; /* MPI refuses the call */
	pthread_mutex_lock(&lock);
	if (grow()) {
		e = entry_of(p->id, OP_MEMBER, 0, 0);
		if (!e->op && (e->counters = record(0, p->id, p->inter ? 0 : p->rank, p->size))) {
			e->counters[RECORD_COUNTS] = (uint64_t)p->inter;
			e->id = p->id, e->op = OP_MEMBER;
			num_entries++;
		}
	}
	if (grow()) {
		e = entry_of(p->id, (int)op, p->inter ? -1 : root, class);
		if (!e->op && (e->counters = record(op, p->id, p->inter ? 0 : root + 1, class))) {
			e->id = p->id, e->op = (int)op, e->root = p->inter ? -1 : root, e->class = class;
			num_entries++;
		}
		if (e->op)
			counters = e->counters + RECORD_COUNTS;
	}
	if (!counters)
		book.head[HEAD_DROPPED]++;
	pthread_mutex_unlock(&lock);
	if (counters)
		tally(plan, counters, 1, bytes);
	return counters;
}

void later(struct plan *plan, uint64_t *counters, uint64_t messages, uint64_t bytes)
{
	if (plan->length == plan->room) {
		int more = plan->room ? 2 * plan->room : 1;
		void *step = realloc(plan->step, (size_t)more * sizeof *plan->step);

		if (!step)
			return;
		plan->step = step;
		plan->room = more;
	}
	plan->step[plan->length].counters = counters;
	plan->step[plan->length].messages = messages;
	plan->step[plan->length++].bytes = bytes;
}

/* Persistent requests, by handle: chains in a table that doubles. */
struct started {
	uintptr_t request;
	struct plan plan;
	struct started *next;
};

static struct started **table;
static unsigned num_started, chains;

static struct started **chain_of(uintptr_t request)
{
	return &table[(request * 0x9e3779b97f4a7c15ull >> 32) & (chains - 1)];
}

static int more_chains(void)
{
	struct started **old = table, *s, *next;
	unsigned before = chains;

	if (num_started < chains)
		return 1;
	table = calloc(before ? 2 * before : 64, sizeof *table);
	if (!table) {
		table = old;
		return 0;
	}
	chains = before ? 2 * before : 64;
	for (unsigned i = 0; i < before; i++)
		for (s = old[i]; s; s = next) {
			next = s->next;
			s->next = *chain_of(s->request);
			*chain_of(s->request) = s;
		}
	free(old);
	return 1;
}

void remember(MPI_Request request, struct plan *plan)
{
	struct started *s;

	forget(request); /* a request that had that handle before is gone */
	s = plan->length ? malloc(sizeof *s) : NULL;
	pthread_mutex_lock(&lock);
	if (s && more_chains()) {
		s->request = (uintptr_t)request;
		s->plan = *plan;
		s->next = *chain_of(s->request);
		*chain_of(s->request) = s;
		num_started++;
	} else {
		free(s);
		free(plan->step);
	}
	pthread_mutex_unlock(&lock);
}

uint64_t *replay(MPI_Request request)
{
	uint64_t *first = NULL;
	struct started *s;

	if (!num_started)
		return NULL;
	pthread_mutex_lock(&lock);
	for (s = *chain_of((uintptr_t)request); s && s->request != (uintptr_t)request; s = s->next)
		;
	for (int i = 0; s && i < s->plan.length; i++)
		tally(NULL, s->plan.step[i].counters, s->plan.step[i].messages, s->plan.step[i].bytes);
	if (s)
		first = s->plan.step[0].counters;
	pthread_mutex_unlock(&lock);
	return first;
}

void forget(MPI_Request request)
{
	struct started **at, *s;

	pthread_mutex_lock(&lock);
	for (at = table ? chain_of((uintptr_t)request) : NULL; at && (s = *at); at = &s->next)
		if (s->request == (uintptr_t)request) {
			*at = s->next;
			num_started--;
			free(s->plan.step);
			free(s);
			break;
		}
	pthread_mutex_unlock(&lock);
}
