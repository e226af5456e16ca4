/* Schedules of collective operations. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* messages reads what a rank sends and receives into list, which has room for a
 * message of every three bytes; it returns how many there are. */
static int messages(const unsigned char *b, size_t length, int64_t stages, int ranks, struct golaunch_scheduled *list)
{
	uint64_t stage = 0, later, peer, bytes;
	int n = 0;

	if (stages > MAX_STAGES)
		return golaunch__fail("the agent's schedule has %lld stages", (long long)stages);
	for (size_t at = 0; at < length; n++) {
		if (golaunch__number(b, length, &at, &later) || golaunch__number(b, length, &at, &peer) || golaunch__number(b, length, &at, &bytes) ||
		    later >= (uint64_t)stages - stage || peer >> 1 >= (uint64_t)ranks || bytes > INT64_MAX)
			return golaunch__fail("the agent's schedule is malformed");
		stage += later;
		list[n] = (struct golaunch_scheduled){(int)stage, (int)(peer >> 1), (int)(peer & 1), (size_t)bytes};
	}
	return n;
}

int golaunch_schedule(golaunch_job *job, const char *algorithm, size_t bytes, struct golaunch_scheduled **list, int *count)
{
	size_t length, told;
	golaunch_request *q;
	char *value;
	int64_t stages;

	if (!job)
		return golaunch__no_job("schedule");
	if (!algorithm || !list || !count)
		return golaunch__fail("schedule: NULL is no %s", !algorithm ? "algorithm" : "room for the messages");
	length = strlen(algorithm);
	*list = NULL;
	*count = 0;
	if (!job->planner)
		return golaunch__fail("this golaunch is too old to make schedules");
	if (length == 0 || length > MAX_ALGORITHM)
		return golaunch__fail("schedule: an algorithm's name has 1 to %d bytes, not %zu; see golaunch netsim list", MAX_ALGORITHM, length);
	if (bytes > MAX_SCHEDULE)
		return golaunch__fail("schedule: %s of %zu bytes; 0 to %lld are allowed", algorithm, bytes, (long long)MAX_SCHEDULE);
	q = golaunch__other("schedule", job, &(struct record){.kind = SCHEDULE, .size = (int64_t)bytes, .body = (const unsigned char *)algorithm, .length = length});
	if (!q)
		return -1;
	while (!q->done)
		golaunch__progress(job);
	value = q->value;
	q->value = NULL;
	told = (size_t)q->got;
	stages = q->size;
	if (golaunch__end(q, NULL)) {
		free(value);
		return -1;
	}
	*list = malloc((told / 3 + 1) * sizeof **list);
	if (*list)
		*count = messages((unsigned char *)value, told, stages, job->size, *list);
	else
		*count = golaunch__fail("schedule: out of memory");
	free(value);
	if (*count >= 0)
		return (int)stages;
	free(*list);
	*list = NULL;
	*count = 0;
	return -1;
}
