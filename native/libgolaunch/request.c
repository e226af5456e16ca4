/* Errors and requests. Programs hold the number of a request in a table, in a
 * pointer's place: one that was waited for is known to be no request any more. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static __thread char last_error[512] = "no error";
static __thread int refused; /* last_error explains why there is no request, and was not told */

static __thread int last_cause, last_member;

const char *golaunch_error(void) { return last_error; }

golaunch_cause golaunch_error_cause(int *member)
{
	if (member)
		*member = last_cause == GOLAUNCH_LEFT ? last_member : -1;
	return last_cause >= 0 && last_cause <= GOLAUNCH_FREED ? (golaunch_cause)last_cause : GOLAUNCH_OTHER;
}

int golaunch__fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(last_error, sizeof last_error, format, ap);
	va_end(ap);
	refused = 0;
	last_cause = 0;
	return -1;
}

int golaunch__fail_as(int cause, int member, const char *text)
{
	golaunch__fail("%s", text);
	last_cause = cause;
	last_member = member;
	return -1;
}

int golaunch__no_job(const char *call) { return golaunch__fail("%s: NULL is no job", call); }
int golaunch__no_comm(const char *call) { return golaunch__fail("%s: NULL is no communicator", call); }

int golaunch__gone(const char *call, const golaunch_comm *c)
{
	if (!c)
		return golaunch__no_comm(call);
	return c->freeing == CLOSED ? golaunch__fail("%s: the communicator was freed", call) : 0;
}


/* mine sees two threads where one of them waits, which it does nearly all of the time. */
int golaunch__mine(const char *call, const golaunch_job *job)
{
	if (__atomic_load_n(&job->waiting, __ATOMIC_RELAXED))
		return golaunch__fail("%s: another thread waits in a call of this job; threads call one at a time, by a lock of the program's", call);
	if (job->pid != getpid())
		return golaunch__fail("%s: process %d has opened the job, and this is a child of it; only that one may call", call, (int)job->pid);
	return 0;
}

golaunch_request *golaunch__refused(void)
{
	refused = 1;
	return NULL;
}

/* Lists of requests. */

void golaunch__append(struct list *l, golaunch_request *q)
{
	if (!l->first)
		l->last = &l->first;
	q->in = l;
	q->next = NULL;
	q->link = l->last;
	*l->last = q;
	l->last = &q->next;
	l->count++;
}

golaunch_request *golaunch__find(struct list *l, uint64_t seq)
{
	for (golaunch_request *q = l->first; q; q = q->next)
		if (q->seq == seq)
			return q;
	return NULL;
}

void golaunch__remove(struct list *l, golaunch_request *q)
{
	*q->link = q->next;
	if (q->next)
		q->next->link = q->link;
	else
		l->last = q->link;
	q->in = NULL;
	l->count--;
}

/* Requests, each in a slot of a table. A slot's turn grows with each that leaves it. */

static struct slot {
	golaunch_request *request; /* NULL: free */
	uintptr_t turn;
	size_t next; /* free slot, plus one */
} *slots;
static size_t room, vacant; /* slots; a free one, plus one */

enum { HALF = sizeof(uintptr_t) * 4 };

static int seat(golaunch_request *q)
{
	struct slot *s;

	if (!vacant) {
		size_t more = room ? 2 * room : 64;

		s = more >> (HALF - 1) ? NULL : realloc(slots, more * sizeof *slots);
		if (!s)
			return -1;
		slots = s;
		for (; room < more; room++) {
			slots[room] = (struct slot){.next = vacant};
			vacant = room + 1;
		}
	}
	q->slot = vacant - 1;
	s = &slots[q->slot];
	vacant = s->next;
	s->request = q;
	return 0;
}

static void release(golaunch_request *q)
{
	struct slot *s = &slots[q->slot];

	s->request = NULL;
	s->turn++;
	s->next = vacant;
	vacant = q->slot + 1;
	free(q->error);
	free(q->value);
	free(q->temp);
	free(q);
}

golaunch_request *golaunch__handle(const golaunch_request *q)
{
	return q ? (golaunch_request *)(slots[q->slot].turn << HALF | (q->slot + 1)) : golaunch__refused();
}

/* of finds the request of a handle. */
static golaunch_request *of(const golaunch_request *handle)
{
	uintptr_t h = (uintptr_t)handle, at = h & (((uintptr_t)1 << HALF) - 1);

	if (at == 0 || at > room || slots[at - 1].turn << HALF != h - at)
		return NULL;
	return slots[at - 1].request;
}

/* under_way finds a message of a list by its number, which has its slot in it. */
golaunch_request *golaunch__under_way(struct list *l, uint64_t seq)
{
	size_t slot = (size_t)(seq & UINT32_MAX);
	golaunch_request *q = slot < room ? slots[slot].request : NULL;

	return q && q->in == l && q->seq == seq ? q : NULL;
}

/* forget frees the requests of a job. */
void golaunch__forget(golaunch_job *job)
{
	for (size_t i = 0; i < room; i++)
		if (slots[i].request && slots[i].request->job == job)
			release(slots[i].request);
}

golaunch_request *golaunch__new(const char *call, golaunch_job *job, enum class class)
{
	golaunch_request *q;

	if (!job) {
		golaunch__no_job(call);
		return NULL;
	}
	if (golaunch__mine(call, job))
		return NULL;
	job->cause = 0;
	if (job->error) {
		golaunch__fail("%s", job->error);
		return NULL;
	}
	q = calloc(1, sizeof *q);
	if (!q || seat(q)) {
		free(q);
		golaunch__fail("%s: out of memory", call);
		return NULL;
	}
	q->job = job;
	q->class = class;
	return q;
}

/* finish completes a request that is in no list any more. */
void golaunch__finish(golaunch_request *q, const char *error)
{
	q->done = 1;
	q->error = error ? strdup(error) : NULL;
	if (q->then)
		q->then(q);
	if (q->hidden)
		release(q);
}

/* end waits for a request and frees it. Where it went well, the agent has all that
 * others need of this rank for it. */
int golaunch__end(golaunch_request *q, struct golaunch_message *m)
{
	int rc = 0;

	if (!q)
		return -1;
	while (!q->done)
		golaunch__progress(q->job); /* a failure ends q, too */
	q->job->cause = q->cause;
	q->job->member = q->member;
	if (q->error)
		rc = golaunch__fail_as(q->cause, q->member, q->error);
	else if (golaunch__say(q->job))
		rc = -1;
	else if (m)
		*m = (struct golaunch_message){(int)q->src, (int)q->tag, (size_t)q->got};
	if (rc == 0 && q->made && q->made_id && !(*q->made = golaunch__comm(q->job, q->made_id, q->made_rank, q->made_size)))
		rc = -1;
	if (rc == 0 && q->data) {
		*q->data = q->value;
		q->value = NULL;
	}
	release(q);
	return rc;
}

void golaunch__drop(golaunch_request *q)
{
	if (q && q->done)
		release(q);
	else if (q)
		q->hidden = 1;
}

/* unknown says of what is given to a call that it is no request. */
static int unknown(const char *call, const golaunch_request *handle)
{
	if (handle)
		return golaunch__fail("%s: no request, or one that was waited for already", call);
	if (!refused)
		return golaunch__fail("%s: NULL is no request", call);
	refused = 0;
	return -1;
}

int golaunch_wait_message(golaunch_request **request, struct golaunch_message *m)
{
	golaunch_request *handle = request ? *request : NULL, *q = of(handle);

	if (!q)
		return unknown("golaunch_wait", handle);
	if (golaunch__mine("golaunch_wait", q->job))
		return -1;
	*request = NULL;
	return golaunch__end(q, m);
}

int golaunch_wait(golaunch_request **request) { return golaunch_wait_message(request, NULL); }

int golaunch__wait(golaunch_request *handle) { return golaunch_wait(&handle); }

/* ready tells whether golaunch_wait would return at once. */
static int ready(const golaunch_request *q)
{
	return q->done && (q->error || q->job->error || q->job->out.begin == q->job->out.end);
}

int golaunch_test(golaunch_request *handle)
{
	golaunch_request *q = of(handle);

	if (!q)
		return unknown("golaunch_test", handle);
	if (golaunch__mine("golaunch_test", q->job))
		return -1;
	golaunch__look(q->job); /* a failure ends q, and is told of by golaunch_wait */
	return ready(q);
}

/* one finds one of a list that is a request, and -1 where there is none or another is
 * none. */
static int one(const char *call, golaunch_request *const *handles, int count)
{
	int found = -1;

	if (!handles)
		return golaunch__fail("%s: the requests are NULL", call);
	for (int i = 0; i < count; i++) {
		golaunch_request *q = of(handles[i]);

		if (!q && handles[i])
			return unknown(call, handles[i]);
		if (q && golaunch__mine(call, q->job))
			return -1;
		if (q)
			found = i;
	}
	return found >= 0 ? found : golaunch__fail("%s: no request among %d", call, count);
}

int golaunch_testany(golaunch_request *const *handles, int count)
{
	int some = one("golaunch_testany", handles, count);

	if (some < 0)
		return -1;
	golaunch__look(of(handles[some])->job); /* once: it may end any of them */
	for (int i = 0; i < count; i++)
		if (handles[i] && ready(of(handles[i])))
			return i;
	return count;
}

int golaunch_waitany(golaunch_request *const *handles, int count)
{
	int some = one("golaunch_waitany", handles, count);

	if (some < 0)
		return -1;
	for (golaunch_job *job = of(handles[some])->job;; golaunch__progress(job)) /* a failure ends all */
		for (int i = 0; i < count; i++)
			if (handles[i] && of(handles[i])->done) {
				golaunch__say(job); /* so that golaunch_wait does not wait */
				return i;
			}
}
