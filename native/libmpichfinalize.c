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
 * hand it on, and leaves in the process that has MPICH: what a rank starts is
 * not to have it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload.h"

enum { MAX_WORKERS = 64, PAUSE_MICROSECONDS = 200 };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static void *workers[MAX_WORKERS]; /* the live ones; guarded by lock */
static int num_workers;
static volatile int closing; /* the thread runs; set and cleared under lock */

/* real returns UCX's own function of that name. */
static void *real(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f) { /* an interpreter has loaded MPICH, and with it UCX, for itself alone */
		void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);

		f = ucp ? dlsym(ucp, name) : NULL;
	}
	if (!f) {
		fprintf(stderr, "libmpichfinalize: %s is not in this program's UCX; run it without this library\n", name);
		abort();
	}
	return f;
}

#define REAL(result, name, ...) \
	static result (*next)(__VA_ARGS__); \
	if (!next) \
		next = (result (*)(__VA_ARGS__))real(name)

/* loaded runs before main. A script has no MPICH and hands LD_PRELOAD on. */
__attribute__((constructor)) static void loaded(void)
{
	if (dlsym(RTLD_DEFAULT, "MPII_Version_string"))
		leave_preload(&lock);
}

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
	REAL(unsigned, "ucp_worker_progress", void *);
	int left;

	(void)unused;
	do {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < num_workers; i++)
			while (next(workers[i]))
				;
		left = num_workers;
		if (left == 0)
			closing = 0; /* MPI may begin anew */
		pthread_mutex_unlock(&lock);
		usleep(PAUSE_MICROSECONDS);
	} while (left > 0);
	return NULL;
}

int ucp_worker_create(void *context, const void *params, void **worker)
{
	REAL(int, "ucp_worker_create", void *, const void *, void **);
	int status = next(context, params, worker);

	pthread_mutex_lock(&lock);
	leave_preload(&lock); /* an interpreter has loaded MPICH after its start */
	if (status == 0 && num_workers < MAX_WORKERS)
		workers[num_workers++] = *worker;
	pthread_mutex_unlock(&lock);
	return status;
}

void ucp_worker_destroy(void *worker)
{
	REAL(void, "ucp_worker_destroy", void *);

	pthread_mutex_lock(&lock);
	for (int i = 0; i < num_workers; i++)
		if (workers[i] == worker)
			workers[i--] = workers[--num_workers];
	next(worker);
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

void *ucp_disconnect_nb(void *endpoint)
{
	REAL(void *, "ucp_disconnect_nb", void *);
	void *request;

	pthread_mutex_lock(&lock);
	if (!closing)
		start_serving();
	request = next(endpoint);
	pthread_mutex_unlock(&lock);
	return request;
}

unsigned ucp_worker_progress(void *worker)
{
	REAL(unsigned, "ucp_worker_progress", void *);
	int locked = enter();
	unsigned count = next(worker);

	leave(locked);
	return count;
}

void ucp_request_release(void *request)
{
	REAL(void, "ucp_request_release", void *);
	int locked = enter();

	next(request);
	leave(locked);
}
