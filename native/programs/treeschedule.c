/*
 * treeschedule: ranks ask for schedules of their job and carry them out, as an example
 * and a test.
 *
 *   golaunch --topology FILE -f hosts treeschedule alltoall/tacs1 64
 *
 * In each stage a rank sends what it is told to, as a message that has the bytes alone,
 * and receives what it is told to. Rank 0 prints what all have sent:
 *
 *   alltoall/tacs1 64: 7 stages, 56 messages, 3584 bytes
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "golaunch.h"

static int me = -1;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "treeschedule: rank %d: %s: %s\n", me, what, why);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc < 0)
		die(what, golaunch_error());
}

/* carry_out does the messages of one stage, all at once. */
static void carry_out(golaunch_comm *world, const struct golaunch_scheduled *m, int n)
{
	golaunch_request **q = calloc((size_t)n, sizeof *q);
	int64_t *bytes = calloc((size_t)n, sizeof *bytes);

	if (n > 0 && (!q || !bytes))
		die("memory", "there is none");
	for (int i = 0; i < n; i++) {
		bytes[i] = m[i].received ? -1 : (int64_t)m[i].bytes;
		q[i] = m[i].received ? golaunch_irecv(world, m[i].peer, m[i].stage, &bytes[i], sizeof bytes[i])
		                     : golaunch_isend(world, m[i].peer, m[i].stage, &bytes[i], sizeof bytes[i]);
	}
	for (int i = 0; i < n; i++) {
		must("message", golaunch_wait(&q[i]));
		if (bytes[i] != (int64_t)m[i].bytes)
			die("message", "its receiver was told of another size");
	}
	free(q);
	free(bytes);
}

int main(int argc, char **argv)
{
	golaunch_job *job = golaunch_open();
	struct golaunch_scheduled *list;
	int64_t mine[2] = {0}, all[2];
	golaunch_comm *world;
	int stages, count;

	if (argc != 3)
		die("usage", "treeschedule ALGORITHM BYTES");
	if (!job)
		die("open", golaunch_error());
	world = golaunch_world(job);
	me = golaunch_rank(world);
	stages = golaunch_schedule(job, argv[1], (size_t)strtoull(argv[2], NULL, 10), &list, &count);
	must("schedule", stages);
	for (int i = 0, n; i < count; i += n) {
		for (n = 0; i + n < count && list[i + n].stage == list[i].stage; n++)
			if (!list[i + n].received) {
				mine[0]++;
				mine[1] += (int64_t)list[i + n].bytes;
			}
		carry_out(world, &list[i], n);
	}
	must("sum", golaunch_allreduce(world, GOLAUNCH_INT64, GOLAUNCH_SUM, mine, all, sizeof all));
	if (me == 0)
		printf("%s %s: %d stages, %lld messages, %lld bytes\n", argv[1], argv[2], stages, (long long)all[0], (long long)all[1]);
	free(list);
	golaunch_close(job);
	return 0;
}
