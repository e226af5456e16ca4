/*
 * treestay: ranks that add numbers up over the tree for as long as they are let, ten
 * times a second, and check the sums. Each says "rank R stays" after the first.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "golaunch.h"

static void must(const char *what, int failed)
{
	if (failed) {
		fprintf(stderr, "treestay: %s: %s\n", what, golaunch_error());
		exit(1);
	}
}

int main(void)
{
	golaunch_job *job = golaunch_open();
	golaunch_comm *world;
	int64_t rank, size;

	must("open", !job);
	world = golaunch_world(job);
	rank = golaunch_rank(world);
	size = golaunch_size(world);
	for (int64_t round = 0;; round++) {
		int64_t mine = rank + round, sum = 0;

		must("allreduce", golaunch_allreduce(world, GOLAUNCH_INT64, GOLAUNCH_SUM, &mine, &sum, sizeof sum));
		if (sum != size * (size - 1) / 2 + size * round) {
			fprintf(stderr, "treestay: rank %lld: a wrong sum\n", (long long)rank);
			return 1;
		}
		if (round == 0) {
			printf("rank %lld stays\n", (long long)rank);
			fflush(stdout);
		}
		usleep(100000);
	}
}
