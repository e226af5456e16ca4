/* The book of a process: its counters, and the numbers in the world of the ranks of
 * its communicators and windows. The path of every call is inline; the rest is in
 * book.c. */
#ifndef BOOK_H
#define BOOK_H

#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "layout.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define HIDDEN __attribute__((visibility("hidden")))
/* Preloaded libraries may have thread-local variables at fixed places. */
#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))

/* peers are the ranks of a communicator or of a window's group. They are never
 * freed, but used again. */
struct peers {
	uintptr_t handle;
	int size;    /* of the remote group, if there is one */
	int *world;  /* their ranks in the world, -1 for others; NULL if these are the same */
	int rank;    /* of this process, in the local group */
	int inter;   /* there is a remote group */
	uint64_t id; /* the same at all members */
	int *to;     /* neighbors to whom neighborhood collectives send; NULL if not asked yet */
	int num_to;
	struct peers *next; /* while it is not used */
};

/* plan holds the counts of a persistent request, which count whenever it is started. */
struct plan {
	int length, room;
	struct { uint64_t *counters, messages, bytes; } *step;
};

enum { CACHED = 64 }; /* a power of two */

struct book {
	volatile uint64_t *head; /* of this rank; one that is off while there is none */
	uint64_t *sent, *got;    /* rows of the world's ranks */
	int columns, timed;
	int threads; /* may count at the same time */
	int tried;   /* to get at the counters */
	struct peers *comms[CACHED], *wins[CACHED];
};

extern HIDDEN struct book book;

/* Of book.c and records.c. */
extern HIDDEN pthread_mutex_t lock;
extern HIDDEN uint64_t *header, *pool; /* of the file; NULL while there is none */
extern HIDDEN int slot;                /* of this rank in it */
extern HIDDEN volatile uint64_t nowhere[HEAD_WORDS]; /* a head that is off */

/* find returns the next function of that name behind this library. It does not
 * return if there is none. */
HIDDEN void *find(const char *name);
HIDDEN void attach(void);
HIDDEN void detach(void);
HIDDEN struct peers *know_comm(MPI_Comm comm);
HIDDEN struct peers *know_win(MPI_Win win);
HIDDEN uint64_t size_of(MPI_Datatype type);
HIDDEN MPI_Op no_op(void);
HIDDEN void later(struct plan *plan, uint64_t *counters, uint64_t messages, uint64_t bytes);
HIDDEN void remember(MPI_Request request, struct plan *plan);
HIDDEN uint64_t *replay(MPI_Request request);
HIDDEN void forget(MPI_Request request);
HIDDEN uint64_t *collective(struct plan *plan, enum operation op, struct peers *p, int root, uint64_t size, uint64_t bytes);
HIDDEN int know_neighbors(MPI_Comm comm, struct peers *p);

/* counting tells whether calls count now. */
static inline int counting(void)
{
	if (LIKELY(book.head[HEAD_ON]))
		return 1;
	if (!book.tried)
		attach(); /* MPI was initialised in a way that this library has not seen */
	return book.head[HEAD_ON] != 0;
}

/* slot_of spreads handles over the cache. */
static inline unsigned slot_of(uintptr_t handle) { return (handle * 0x9e3779b97f4a7c15ull) >> 58; }

static inline struct peers *of_comm(MPI_Comm comm)
{
	struct peers *p = __atomic_load_n(&book.comms[slot_of((uintptr_t)comm)], __ATOMIC_ACQUIRE);

	return LIKELY(p && p->handle == (uintptr_t)comm) ? p : know_comm(comm);
}

static inline struct peers *of_win(MPI_Win win)
{
	struct peers *p = __atomic_load_n(&book.wins[slot_of((uintptr_t)win)], __ATOMIC_ACQUIRE);

	return LIKELY(p && p->handle == (uintptr_t)win) ? p : know_win(win);
}

/* bytes_of is the volume of n elements; none where n was negative, which MPI
 * refuses. The handles of MPICH's basic types have their sizes, by its ABI. */
static inline uint64_t bytes_of(uint64_t n, MPI_Datatype type)
{
	if ((int64_t)n <= 0)
		return 0;
#ifdef MPICH_VERSION
	if (LIKELY(((unsigned)type & 0xff000000u) == 0x4c000000u))
		return n * (((unsigned)type >> 8) & 0xff);
#endif
	return n * size_of(type);
}

/* tally counts, or notes in a plan what is to be counted. */
static inline void tally(struct plan *plan, uint64_t *counters, uint64_t messages, uint64_t bytes)
{
	if (plan) {
		later(plan, counters, messages, bytes);
	} else if (LIKELY(!book.threads)) {
		counters[0] += messages;
		counters[1] += bytes;
	} else {
		__atomic_fetch_add(&counters[0], messages, __ATOMIC_RELAXED);
		__atomic_fetch_add(&counters[1], bytes, __ATOMIC_RELAXED);
	}
}

/* moved counts a message between this process and a peer, in one of the rows. It
 * returns the counters, NULL for nobody, as MPI_PROC_NULL is. */
static inline uint64_t *moved(struct plan *plan, uint64_t *row, const struct peers *p, int peer, uint64_t bytes)
{
	uint64_t *counters = (uint64_t *)&book.head[HEAD_OUTSIDE];
	int rank = peer;

	if ((unsigned)peer >= (unsigned)p->size || !row)
		return NULL;
	if (p->world)
		rank = p->world[peer];
	if (LIKELY(rank >= 0))
		counters = row + (size_t)rank * book.columns;
	tally(plan, counters, 1, bytes);
	return counters;
}

static inline uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* spent adds the time since begin. */
static inline void spent(uint64_t *counters, uint64_t begin)
{
	if (counters)
		__atomic_fetch_add(&counters[2], now() - begin, __ATOMIC_RELAXED);
}

#endif
