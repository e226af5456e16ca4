/*
 * treetour: every operation of libgolaunch, as an example and a test.
 *
 *   golaunch -n 8 treetour [SIZE]
 *
 * Each rank checks what it gets, with SIZE bytes (1000) for each rank, over the
 * world and over halves of it; rank 0 says that all is well.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golaunch.h"

static golaunch_job *job;
static int me = -1;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "treetour: rank %d: %s: %s\n", me, what, why);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc)
		die(what, golaunch_error());
}

static void *room(size_t n)
{
	void *p = calloc(1, n + 1);

	if (!p)
		die("memory", "there is none");
	return p;
}

/* pattern is the message of member src for member dst. */
static void pattern(unsigned char *b, int src, int dst, size_t size)
{
	for (size_t i = 0; i < size; i++)
		b[i] = (unsigned char)(src * 7 + dst * 13 + (int)(i * 3) + (int)(i >> 8));
}

static void same(const char *what, const void *got, const void *want, size_t size)
{
	if (memcmp(got, want, size))
		die(what, "a wrong result");
}

static void operations(golaunch_comm *c, size_t size)
{
	int p = golaunch_size(c), r = golaunch_rank(c), root = p / 2;
	size_t n = size / 8, all = (size_t)p * size;
	unsigned char *mine = room(size), *news = room(size), *part = room(size), *left = room(size), *want = room(size);
	unsigned char *out = room(all), *in = room(all), *gathered = room(all), *everywhere = room(all), *from_all = room(all);
	int64_t *numbers = room(8 * n), *sums = room(8 * n), *most = room(8 * n), *prefix = room(8 * n);
	golaunch_request *q[10];
	struct golaunch_message m;
	int i = 0;

	pattern(mine, r, root, size);
	for (int j = 0; j < p; j++) {
		pattern(out + (size_t)j * size, r, j, size);
		pattern(from_all + (size_t)j * size, j, root, size);
	}
	if (r == root)
		pattern(news, root, root, size);
	for (size_t j = 0; j < n; j++)
		numbers[j] = r + 1;
	q[i++] = golaunch_ibcast(c, root, news, size);
	q[i++] = golaunch_igather(c, root, mine, r == root ? gathered : NULL, size);
	q[i++] = golaunch_iallgather(c, mine, everywhere, size);
	q[i++] = golaunch_iscatter(c, root, r == root ? out : NULL, part, size);
	q[i++] = golaunch_ialltoall(c, out, in, size);
	q[i++] = golaunch_iallreduce(c, GOLAUNCH_INT64, GOLAUNCH_SUM, numbers, sums, 8 * n);
	q[i++] = golaunch_ireduce(c, root, GOLAUNCH_INT64, GOLAUNCH_MAX, numbers, most, 8 * n);
	q[i++] = golaunch_isend(c, (r + 1) % p, 7, out + (size_t)((r + 1) % p) * size, size);
	q[i++] = golaunch_ibarrier(c);
	must("recv", golaunch_recv(c, GOLAUNCH_ANY, 7, left, size, &m));
	while (i > 0)
		must("an operation", golaunch_wait(&q[--i]));
	must("scan", golaunch_scan(c, GOLAUNCH_INT64, GOLAUNCH_SUM, numbers, prefix, 8 * n));

	pattern(want, root, root, size);
	same("bcast", news, want, size);
	if (r == root)
		same("gather", gathered, from_all, all);
	same("allgather", everywhere, from_all, all);
	pattern(want, root, r, size);
	same("scatter", part, want, size);
	for (int j = 0; j < p; j++)
		pattern(from_all + (size_t)j * size, j, r, size);
	same("alltoall", in, from_all, all);
	for (size_t j = 0; j < n; j++)
		if (sums[j] != (int64_t)p * (p + 1) / 2 || (r == root && most[j] != p) || prefix[j] != (int64_t)(r + 1) * (r + 2) / 2)
			die("a reduction", "a wrong result");
	pattern(want, (r + p - 1) % p, r, size);
	same("send", left, want, size);
	if (m.source != (r + p - 1) % p || m.tag != 7 || m.size != size)
		die("send", "from someone else");
	for (void **b = (void *[]){mine, news, part, left, want, out, in, gathered, everywhere, from_all, numbers, sums, most, prefix, NULL}; *b; b++)
		free(*b);
}

/* any_order receives from all others as their messages come, with poll for what else a
 * program waits for. */
static void any_order(golaunch_comm *c)
{
	int p = golaunch_size(c), r = golaunch_rank(c), left = p - 1;
	golaunch_request **q = room((size_t)p * sizeof *q), *two[2];
	int *from = room((size_t)p * sizeof *from);
	struct golaunch_message m;
	struct pollfd fd = {0};

	for (int i = 0; i < p; i++)
		if (i != r)
			q[i] = golaunch_irecv(c, i, 9, &from[i], sizeof *from);
	for (int i = 1; i < p; i++)
		must("send", golaunch_send(c, (r + i) % p, 9, &r, sizeof r));
	for (; left > 0; left--) {
		int i = golaunch_waitany(q, p);

		must("wait for any", i < 0);
		must("test of what is complete", golaunch_test(q[i]) != 1);
		must("receive", golaunch_wait_message(&q[i], &m));
		if (q[i] || m.source != i || from[i] != i)
			die("wait for any", "a wrong message");
	}
	two[0] = golaunch_ibarrier(c);
	two[1] = golaunch_ibarrier(c);
	while (two[0] || two[1]) {
		int i = golaunch_testany(two, 2);

		must("test of any", i < 0);
		if (i < 2) {
			must("barrier", golaunch_wait(&two[i]));
			continue;
		}
		fd.fd = golaunch_fd(job, &fd.events);
		if (poll(&fd, 1, -1) < 0)
			die("poll", "it failed");
	}
	free(q);
	free(from);
}

/* board puts a key for each rank and reads a neighbor's. */
static void board(void)
{
	char key[32], want[32], *value;
	size_t size;

	snprintf(key, sizeof key, "treetour-%d", me);
	snprintf(want, sizeof want, "of %d", me);
	must("put", golaunch_put(job, key, want, strlen(want)));
	must("fence", golaunch_fence(job));
	snprintf(key, sizeof key, "treetour-%d", (me + 1) % golaunch_size(golaunch_world(job)));
	snprintf(want, sizeof want, "of %d", (me + 1) % golaunch_size(golaunch_world(job)));
	must("get", golaunch_get(job, key, &value, &size));
	if (!value || size != strlen(want) || strcmp(value, want))
		die(key, value ? value : "nothing");
	free(value);
	must("get", golaunch_get(job, "treetour-none", &value, &size));
	if (value)
		die("get", "found a key that nobody put");

	/* All of it, without asking. */
	golaunch_board *b = golaunch_board_open(job);

	if (!b)
		die("board", golaunch_error());
	for (int i = 0; i < golaunch_size(golaunch_world(job)); i++) {
		const char *found;

		snprintf(key, sizeof key, "treetour-%d", i);
		snprintf(want, sizeof want, "of %d", i);
		found = golaunch_board_get(b, key, &size);
		if (!found || size != strlen(want) || memcmp(found, want, size))
			die(key, "a wrong value on the board");
	}
	if (golaunch_board_get(b, "treetour-none", &size))
		die("board", "found a key that nobody put");
	golaunch_board_close(b);
}

/* give_up frees a communicator with things under way over it: these come to a good
 * end. */
static void give_up(golaunch_comm *c, size_t size)
{
	int n = golaunch_size(c), r = golaunch_rank(c), right = (r + 1) % n, left = (r + n - 1) % n;
	char *mine = malloc(size + 1), *got = malloc(size + 1), *all = malloc((size_t)n * size + 1);
	golaunch_request *qs[3];
	const char *names[] = {"gather under way", "receive under way", "send under way"};

	if (!mine || !got || !all)
		die("give up", "out of memory");
	memset(mine, 'a' + r % 26, size);
	qs[0] = golaunch_igather(c, 0, mine, all, size);
	qs[1] = golaunch_irecv(c, left, 3, got, size);
	qs[2] = golaunch_isend(c, right, 3, mine, size);
	must("free", golaunch_comm_free(&c));
	for (int i = 0; i < 3; i++)
		must(names[i], golaunch_wait(&qs[i]));
	for (size_t i = 0; i < size; i++) {
		if (got[i] != 'a' + left % 26)
			die("receive under way", "wrong bytes");
		for (int j = 0; r == 0 && j < n; j++)
			if (all[(size_t)j * size + i] != 'a' + j % 26)
				die("gather under way", "wrong bytes");
	}
	free(mine);
	free(got);
	free(all);
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	golaunch_comm *world, *half;

	job = golaunch_open();
	if (!job)
		die("open", golaunch_error());
	world = golaunch_world(job);
	me = golaunch_rank(world);
	operations(world, size);
	must("split", golaunch_split(world, me % 2, -me, &half));
	for (int i = 0; i < 3; i++) /* past the barriers that the library inserts */
		operations(half, size);
	any_order(world);
	give_up(half, size);
	board();
	must("barrier", golaunch_barrier(world));
	if (me == 0)
		printf("tour of %d ranks on %d nodes: ok\n", golaunch_size(world), golaunch_nodes(job));
	golaunch_close(job);
	return 0;
}
