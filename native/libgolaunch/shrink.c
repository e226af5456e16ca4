/* Communicators of the members that live. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum outcome { WELL, AGAIN, NEXT, LOST }; /* of an attempt: led again; by the next member; none mends it */

/* has_left tells whether the request that ended last failed because a member has left. */
static int has_left(const golaunch_job *job, int member) { return job->cause == GOLAUNCH_LEFT && job->member == member; }

/* hear receives a message of any size. */
static golaunch_request *hear(golaunch_comm *c, int member, int64_t tag, void **data)
{
	golaunch_request *q = golaunch__recv_alloc(c, member, tag, data);

	return q ? golaunch__post(q) : NULL;
}

/* tell sends a copy of what is in b. */
static golaunch_request *tell(golaunch_comm *c, int member, int64_t tag, const struct buffer *b)
{
	golaunch_request *q = golaunch__send(c, member, tag, b->bytes, b->end);

	if (!q)
		return NULL;
	q->send = q->temp = malloc(b->end);
	if (!q->temp)
		abort(); /* there is no way on without memory */
	memcpy(q->temp, b->bytes, b->end);
	return golaunch__post(q);
}

/* answers hears who is there, into ranks, -1 for who is not. */
static int answers(golaunch_comm *c, int64_t tag, int *ranks)
{
	golaunch_request **q = calloc((size_t)c->size, sizeof *q);
	int rc = q ? 0 : golaunch__fail("out of memory");
	struct golaunch_message m;
	void *said = NULL;

	for (int i = 0; i < c->size && !rc; i++)
		if (i != c->rank)
			q[i] = hear(c, i, tag, &said);
	for (int i = 0; i < c->size && !rc; i++) {
		uint64_t rank;
		size_t at = 0;

		ranks[i] = i == c->rank ? c->job->rank : -1;
		if (i == c->rank)
			continue;
		rc = golaunch__end(q[i], &m);
		q[i] = NULL;
		if (rc && has_left(c->job, i)) {
			rc = 0;
		} else if (!rc && (golaunch__number(said, m.size, &at, &rank) || rank >= (uint64_t)c->job->size)) {
			rc = golaunch__fail("member %d says nothing of its rank", i);
		} else if (!rc) {
			ranks[i] = (int)rank;
		}
		free(said);
		said = NULL;
	}
	for (int i = 0; i < c->size && q; i++)
		golaunch__drop(q[i]);
	free(q);
	return rc;
}

/* lead hears who is there, and tells everyone: *count ranks of the world. */
static enum outcome lead(golaunch_comm *c, int64_t tag, int *ranks, int *count)
{
	golaunch_request **q = calloc((size_t)c->size, sizeof *q);
	struct buffer said = {0};
	int *living = malloc((size_t)c->size * sizeof *living), rc = -1, n = 0;

	if (!q || !living) {
		golaunch__fail("out of memory");
	} else if (answers(c, tag, living) == 0) {
		rc = 0;
		for (int i = 0; i < c->size; i++)
			if (living[i] >= 0)
				ranks[n++] = living[i];
		golaunch__runs(&said, ranks, n);
		for (int i = 0; i < c->size; i++)
			if (living[i] >= 0 && i != c->rank && !(q[i] = tell(c, i, tag, &said)))
				rc = -1;
		for (int i = 0; i < c->size; i++)
			if (q[i] && golaunch__end(q[i], NULL) && !has_left(c->job, i))
				rc = -1;
	}
	*count = n;
	free(said.bytes);
	free(living);
	free(q);
	return rc ? LOST : WELL;
}

/* read_runs reads a list of ranks; it returns how many there are. */
static int read_runs(const unsigned char *b, size_t size, int *ranks, int most)
{
	uint64_t first, length;
	int n = 0;

	for (size_t at = 0; at < size;) {
		if (golaunch__number(b, size, &at, &first) || golaunch__number(b, size, &at, &length) || length > (uint64_t)(most - n) || first > INT32_MAX)
			return golaunch__fail("the list of those that live is malformed");
		for (uint64_t i = 0; i < length; i++)
			ranks[n++] = (int)(first + i);
	}
	return n;
}

/* follow says that this rank is there, and hears who is. */
static enum outcome follow(golaunch_comm *c, int leader, int64_t tag, int *ranks, int *count)
{
	unsigned char number[10];
	struct buffer me = {.bytes = number};
	golaunch_request *call, *answer;
	struct golaunch_message m;
	enum outcome how = WELL;
	void *said = NULL;

	me.end = golaunch__varint(number, (uint64_t)c->job->rank);
	call = tell(c, leader, tag, &me);
	answer = call ? hear(c, leader, tag, &said) : NULL;
	if (golaunch__end(answer, &m))
		how = has_left(c->job, leader) ? NEXT : LOST;
	if (how == LOST)
		golaunch__drop(call);
	else if (golaunch__end(call, NULL) && how == WELL)
		how = has_left(c->job, leader) ? NEXT : LOST;
	if (how == WELL && (*count = read_runs(said, m.size, ranks, c->size)) < 0)
		how = LOST;
	free(said);
	return how;
}

/* attempt is one to make a communicator, led by a member. */
static enum outcome attempt(golaunch_comm *c, int leader, int64_t tag, int *ranks, golaunch_comm **made)
{
	int count = 0;
	enum outcome how = leader == c->rank ? lead(c, tag, ranks, &count) : follow(c, leader, tag, ranks, &count);

	if (how != WELL)
		return how;
	c->job->cause = 0;
	*made = golaunch__sub(c->job, ranks, count, tag, c->id);
	if (*made && golaunch_barrier(*made) == 0)
		return WELL;
	return c->job->cause == GOLAUNCH_LEFT ? AGAIN : LOST;
}

golaunch_comm *golaunch_shrink(golaunch_comm *c)
{
	enum outcome how = NEXT;
	golaunch_comm *made = NULL;
	int64_t tag;
	int *ranks;

	if (golaunch__gone("shrink", c))
		return NULL;
	if (golaunch__mine("shrink", c->job))
		return NULL;
	ranks = malloc((size_t)c->size * sizeof *ranks);
	if (!ranks) {
		golaunch__fail("shrink: out of memory");
		return NULL;
	}
	tag = golaunch__tag(c, SHRINKING);
	c->whole++;
	for (int leader = 0; leader < c->size && how == NEXT; leader++) {
		how = AGAIN;
		for (int64_t n = 0; how == AGAIN; n++)
			how = attempt(c, leader, tag + (n << 20), ranks, &made);
	}
	c->whole--;
	free(ranks);
	if (how == WELL)
		return made;
	if (how == LOST) {
		char why[400] = "";

		strncat(why, golaunch_error(), sizeof why - 1);
		golaunch__fail("shrink: %s", why);
	} else {
		golaunch__fail("shrink: every member has left");
	}
	return NULL;
}
