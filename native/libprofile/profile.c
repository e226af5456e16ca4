/*
 * libprofile: counts who sends whom how much in an MPI program [Subramoni 7.2], for
 * golaunch --profile. It is compiled against the mpi.h of MPICH, and against that
 * of Open MPI, and preloaded.
 *
 * It has the functions MPI_X and PMPI_X of each call X of its table. Either counts
 * and goes on to the next function of its name, and what is called meanwhile in the
 * same thread does not count again. So a program in C counts, as one in Fortran does
 * whose wrappers call MPI_X (MPICH) or PMPI_X (Open MPI), and one with a tool of
 * others that is between the two. The library needs none at its loading, so that it
 * does not matter in scripts.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "count.h"

PER_THREAD int nested; /* a call that counts is under way */

#define VISIBLE __attribute__((visibility("default")))
#define REST(...) __VA_ARGS__

#define BEGIN(symbol, args) \
	static __typeof__(&symbol) next_; \
	if (__builtin_expect(!next_, 0)) \
		next_ = find(#symbol); \
	if (nested) \
		return next_ args; \
	nested = 1;
#define END(result) \
	nested = 0; \
	return result;

/* DEFINE is a call that counts. */
#define DEFINE(symbol, params, args, what) \
	VISIBLE int symbol params \
	{ \
		BEGIN(symbol, args) \
		struct plan *const plan = NULL; \
		uint64_t begin_ = book.timed ? now() : 0, *counters_ = what; \
		int result_ = next_ args; \
		(void)plan; \
		if (book.timed) \
			spent(counters_, begin_); \
		END(result_) \
	}

/* DEFINE_START is a call that makes a persistent request. */
#define DEFINE_START(symbol, params, args, what) \
	VISIBLE int symbol params \
	{ \
		BEGIN(symbol, args) \
		struct plan noted = {0, 0, NULL}, *const plan = &noted; \
		int result_; \
		what; \
		result_ = next_ args; \
		if (result_ == MPI_SUCCESS) \
			remember(*request, &noted); \
		else \
			free(noted.step); \
		END(result_) \
	}

#define BOTH_NAMES(define, name, params, args, what) \
	define(MPI_##name, params, args, what) \
	define(PMPI_##name, params, args, what)

#define NAMED_CALL(name, params, args, what) BOTH_NAMES(DEFINE, name, params, args, what)
#define NAMED_START(name, params, args, what) BOTH_NAMES(DEFINE_START, name, params, args, what)

#if MPI_VERSION >= 4
#define COLL_INIT(name, params, args, what) \
	NAMED_START(name, (REST params, MPI_Info info, MPI_Request *request), (REST args, info, request), what)
#else
#define COLL_INIT(name, params, args, what)
#endif

#define COUNT int
#define PLACE int
#define CALL(name, params, args, what) NAMED_CALL(name, params, args, what)
#define START(name, params, args, what) NAMED_START(name, params, args, what)
#define COLL(name, small, params, args, what) \
	NAMED_CALL(name, params, args, what) \
	NAMED_CALL(I##small, (REST params, MPI_Request *request), (REST args, request), what) \
	COLL_INIT(name##_init, params, args, what)
#include "calls.h"

/* Calls without elements to count. */
COLL(Barrier, barrier, (MPI_Comm comm), (comm), to_all(plan, OP_Barrier, comm, 0))
CALL(Fetch_and_op, (const void *buf, void *result, MPI_Datatype type, int to, MPI_Aint at, MPI_Op op, MPI_Win win),
     (buf, result, type, to, at, op, win), put_get(plan, win, to, 1, type, 1, type, op))
CALL(Compare_and_swap, (const void *buf, const void *compare, void *result, MPI_Datatype type, int to, MPI_Aint at, MPI_Win win),
     (buf, compare, result, type, to, at, win), (get(plan, win, to, 1, type), put(plan, win, to, 2, type)))
#if MPI_VERSION >= 4
START(Psend_init, (const void *buf, int parts, MPI_Count n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Info info,
		   MPI_Request *request), (buf, parts, n, type, to, tag, comm, info, request),
      sent(plan, comm, to, (uint64_t)parts * (uint64_t)n, type))
#endif

/* started counts what persistent requests send. */
static inline uint64_t *started(int n, const MPI_Request *requests)
{
	uint64_t *first = NULL, *counters;

	for (int i = 0; i < n && counting(); i++)
		if ((counters = replay(requests[i])) && !first)
			first = counters;
	return first;
}

static inline uint64_t *freed(const MPI_Request *request)
{
	forget(*request);
	return NULL;
}

CALL(Start, (MPI_Request *request), (request), started(1, request))
CALL(Startall, (int n, MPI_Request *requests), (n, requests), started(n, requests))
CALL(Request_free, (MPI_Request *request), (request), freed(request))

#if MPI_VERSION >= 4
#undef COUNT
#undef PLACE
#undef CALL
#undef START
#undef COLL
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define CALL(name, params, args, what) NAMED_CALL(name##_c, params, args, what)
#define START(name, params, args, what) NAMED_START(name##_c, params, args, what)
#define COLL(name, small, params, args, what) \
	NAMED_CALL(name##_c, params, args, what) \
	NAMED_CALL(I##small##_c, (REST params, MPI_Request *request), (REST args, request), what) \
	COLL_INIT(name##_init_c, params, args, what)
#include "calls.h"
#endif

/* Calls that begin and end the counting. */
#define DEFINE_AROUND(symbol, params, args, before, after) \
	VISIBLE int symbol params \
	{ \
		BEGIN(symbol, args) \
		int result_; \
		before; \
		result_ = next_ args; \
		after; \
		END(result_) \
	}
#define AROUND(name, params, args, before, after) \
	DEFINE_AROUND(MPI_##name, params, args, before, after) \
	DEFINE_AROUND(PMPI_##name, params, args, before, after)

AROUND(Init, (int *argc, char ***argv), (argc, argv), , attach())
AROUND(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided), , attach())
AROUND(Finalize, (void), (), detach(), )

/* switched is MPI_Pcontrol: 0 ends the counting, 1 and above begin it. */
static void switched(int level)
{
	if (book.head[HEAD_STATE] == STATE_COUNTING)
		book.head[HEAD_ON] = level > 0;
}

AROUND(Pcontrol, (const int level, ...), (level), switched(level), )
