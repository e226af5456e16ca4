/* Splits of communicators, and where their members are. */
#include <stdlib.h>

#include "internal.h"

/* made takes what has become of a member in a split. */
int golaunch__made(golaunch_request *q, const struct record *r)
{
	int shift = 0;

	for (size_t i = 0; i < r->length && shift < 64; i++, shift += 7) {
		q->made_id |= (uint64_t)(r->body[i] & 0x7f) << shift;
		if (r->body[i] < 0x80) {
			q->made_rank = (int)r->dst;
			q->made_size = (int)r->size;
			return 0;
		}
	}
	return golaunch__fail("the agent made a communicator without a number");
}

static void little(unsigned char *b, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		b[i] = (unsigned char)(v >> 8 * i);
}

golaunch_request *golaunch_isplit(golaunch_comm *c, int color, int key, golaunch_comm **made)
{
	golaunch_request *q;

	if (!made) {
		golaunch__fail("split: NULL is no room for the communicator");
		return golaunch__refused();
	}
	*made = NULL;
	q = golaunch__usable("split", c, SPLIT, 0, NULL, NULL, 0) ? golaunch__new("split", c->job, OPERATION) : NULL;
	if (!q)
		return golaunch__refused();
	q->comm = c;
	q->op = SPLIT;
	q->made = made;
	q->send = q->choice;
	little(q->choice, color < 0 ? UINT32_MAX : (uint32_t)color);
	little(q->choice + 4, (uint32_t)key);
	return golaunch__handle(golaunch__operate(q));
}

int golaunch_split(golaunch_comm *c, int color, int key, golaunch_comm **made)
{
	return golaunch__wait(golaunch_isplit(c, color, key, made));
}

int golaunch_locate(golaunch_comm *c, int rank, int *world_rank, int *node)
{
	golaunch_request *q;
	int64_t at, on;

	if (golaunch__gone("locate", c))
		return -1;
	if (rank < 0 || rank >= c->size)
		return golaunch__fail("locate: member %d of a communicator of %d", rank, c->size);
	q = golaunch__other("locate", c->job, &(struct record){.kind = ASK, .comm = c->id, .src = c->rank, .dst = rank, .count = 1});
	if (!q)
		return -1;
	c->whole++;
	while (!q->done)
		golaunch__progress(c->job);
	c->whole--;
	at = q->got;
	on = q->src;
	if (golaunch__end(q, NULL))
		return -1;
	if (world_rank)
		*world_rank = (int)at;
	if (node)
		*node = (int)on;
	return 0;
}
