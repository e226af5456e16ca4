/*
 * pmistart: starts up over PMI-1 as MPI libraries do (put an address, enter the
 * fence, get two neighbours'), and prints on rank 0 when the last rank began and
 * when the last was through, in seconds since 1970.
 */
#include "pmi1.h"

#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static const char *value(const char *what, int r)
{
	return field(ask("get_result", "cmd=get kvsname=%s key=%s%d\n", kvs, what, r), "value");
}

int main(void)
{
	double begun = now(), last[2] = {0};
	double end;

	init();
	check_rc("put", ask("put_result", "cmd=put kvsname=%s key=a%d value=%016d\n", kvs, rank, rank));
	barrier();
	for (int step = 1; step <= 2 && size > 1; step++) {
		int r = step == 1 ? (rank + 1) % size : (rank + size - 1) % size;
		const char *v = value("a", r);

		if (!v || atoi(v) != r)
			die("rank %d's address is \"%s\"", r, v ? v : "");
	}
	end = now();
	check_rc("put", ask("put_result", "cmd=put kvsname=%s key=t%d value=%.6f:%.6f\n", kvs, rank, begun, end));
	barrier();
	for (int r = 0; rank == 0 && r < size; r++) {
		double t[2];
		const char *v = value("t", r);

		if (!v || sscanf(v, "%lf:%lf", &t[0], &t[1]) != 2)
			die("rank %d's times are \"%s\"", r, v ? v : "");
		for (int i = 0; i < 2; i++)
			if (t[i] > last[i])
				last[i] = t[i];
	}
	if (rank == 0)
		printf("%.6f %.6f\n", last[0], last[1]);
	ask("finalize_ack", "cmd=finalize\n");
	return 0;
}
