/*
 * libmpichfinalize: ends the hang of MPICH 3.4 ... 4.1 (ch4:ucx) in MPI_Finalize.
 *
 * There a rank first waits for its peers to acknowledge all it ever sent, while
 * it serves them, and then waits in a PMI barrier, where it serves nobody. A
 * peer that asks for its acknowledgement after that waits for ever; over TCP
 * that happens to most programs that send. MPICH 4.2 dropped the barrier
 * (https://github.com/pmodels/mpich/pull/6596).
 *
 * Preloaded, this library serves a rank's peers from a thread of its own, from
 * the first endpoint that is closed until the worker is destroyed. Before that
 * it does nothing. It wraps the few calls of UCX that MPICH makes at its end; a
 * lock keeps the thread and MPICH out of UCX at the same time. UCX calls MPICH back
 * under it, and MPICH calls UCX from there.
 *
 * golaunch puts it at the end of LD_PRELOAD. There it stays in scripts, which
 * hand it on, and leaves in the process that has MPICH: programs that a rank starts are
 * not to have it. It is part of libmpiinit, too, which knows where it is needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../libmpiinit/next.h"

#ifdef PART_OF_LIBMPIINIT
#define LIBRARY "libmpiinit"
#define OPEN __attribute__((visibility("default")))
/* Where they are not in the C library, a program with UCX has them. */
#pragma weak pthread_create
#pragma weak pthread_detach
#pragma weak pthread_sigmask
HIDDEN int finalize_needed(void);
#else
#define LIBRARY "libmpichfinalize"
#define OPEN
#include "../preload.h"
static int finalize_needed(void) { return 1; }
#endif

enum { MAX_WORKERS = 64, PAUSE_MICROSECONDS = 200 };

/* ucx is the UCX behind one library that calls it: a process may have several, each for
 * a module of an interpreter alone. */
struct ucx {
	const struct ucx *older;
	struct object caller;
	int (*ucp_worker_create)(void *, const void *, void **);
	void (*ucp_worker_destroy)(void *);
	void *(*ucp_disconnect_nb)(void *);
	unsigned (*ucp_worker_progress)(void *);
	void (*ucp_request_release)(void *);
};

struct worker {
	void *of_ucx;
	unsigned (*progress)(void *);
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct worker workers[MAX_WORKERS]; /* the live ones; guarded by lock */
static int num_workers;
static volatile int closing; /* the thread runs; set and cleared under lock */
static const struct ucx *known; /* the newest; threads add to them */

/* fail ends a program that would otherwise wait for ever, or crash. */
static void fail(const char *what)
{
	dprintf(STDERR_FILENO, LIBRARY ": %s; golaunch --mpi none runs this program without " LIBRARY "\n", what);
	abort();
}

/* learn finds the UCX of a caller, whose library is kept: its place in memory is its own. */
static const struct ucx *learn(const void *caller)
{
	struct ucx *u = malloc(sizeof *u);

	if (!u)
		fail("no memory is left");
	u->caller = object_of(caller);
	if (u->caller.file)
		dlopen(u->caller.file, RTLD_LAZY | RTLD_NOLOAD);
#define FIND(name) u->name = (__typeof__(u->name))next_of(#name, caller)
	FIND(ucp_worker_create);
	FIND(ucp_worker_destroy);
	FIND(ucp_disconnect_nb);
	FIND(ucp_worker_progress);
	FIND(ucp_request_release);
	u->older = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&known, &u->older, u, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return u;
}

static const struct ucx *ucx_of(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	for (const struct ucx *u = __atomic_load_n(&known, __ATOMIC_ACQUIRE); u; u = u->older)
		if (at >= u->caller.from && at < u->caller.to)
			return u;
	return learn(caller);
}

/* UCX has ucx be that of a function's caller, which has this function. */
#define UCX(name) \
	const struct ucx *ucx = ucx_of(__builtin_return_address(0)); \
\
	if (!ucx->name) \
		fail(#name " is in no UCX of this program")

#ifndef PART_OF_LIBMPIINIT
/* loaded runs before main. A script has no MPICH and hands LD_PRELOAD on. */
__attribute__((constructor)) static void loaded(void)
{
	if (dlsym(RTLD_DEFAULT, "MPII_Version_string"))
		leave_preload(&lock);
}
#endif

/* enter takes the lock if there may be a thread to keep out, and says so. */
static int enter(void)
{
	int locked = closing;

	if (locked)
		pthread_mutex_lock(&lock);
	return locked;
}

static void leave(int locked)
{
	if (locked)
		pthread_mutex_unlock(&lock);
}

/* serve answers the peers until no worker is left. */
static void *serve(void *unused)
{
	int left;

	(void)unused;
	do {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < num_workers; i++)
			while (workers[i].progress(workers[i].of_ucx))
				;
		left = num_workers;
		if (left == 0)
			closing = 0; /* MPI may begin anew */
		pthread_mutex_unlock(&lock);
		usleep(PAUSE_MICROSECONDS);
	} while (left > 0);
	return NULL;
}

OPEN int ucp_worker_create(void *context, const void *params, void **worker)
{
	UCX(ucp_worker_create);
	int status = ucx->ucp_worker_create(context, params, worker);

	if (!finalize_needed())
		return status;
	pthread_mutex_lock(&lock);
#ifndef PART_OF_LIBMPIINIT
	leave_preload(&lock); /* an interpreter has loaded MPICH after its start */
#endif
	if (status == 0 && ucx->ucp_worker_progress && num_workers < MAX_WORKERS)
		workers[num_workers++] = (struct worker){*worker, ucx->ucp_worker_progress};
	pthread_mutex_unlock(&lock);
	return status;
}

OPEN void ucp_worker_destroy(void *worker)
{
	UCX(ucp_worker_destroy);

	pthread_mutex_lock(&lock);
	for (int i = 0; i < num_workers; i++)
		if (workers[i].of_ucx == worker)
			workers[i--] = workers[--num_workers];
	ucx->ucp_worker_destroy(worker);
	pthread_mutex_unlock(&lock);
}

/* start_serving starts the thread, which takes none of the program's signals.
 * The caller holds the lock. */
static void start_serving(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, serve, NULL) == 0) {
		closing = 1;
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

OPEN void *ucp_disconnect_nb(void *endpoint)
{
	UCX(ucp_disconnect_nb);
	void *request;

	pthread_mutex_lock(&lock);
	if (!closing && num_workers > 0)
		start_serving();
	request = ucx->ucp_disconnect_nb(endpoint);
	pthread_mutex_unlock(&lock);
	return request;
}

OPEN unsigned ucp_worker_progress(void *worker)
{
	UCX(ucp_worker_progress);
	int locked = enter();
	unsigned count = ucx->ucp_worker_progress(worker);

	leave(locked);
	return count;
}

OPEN void ucp_request_release(void *request)
{
	UCX(ucp_request_release);
	int locked = enter();

	ucx->ucp_request_release(request);
	leave(locked);
}
