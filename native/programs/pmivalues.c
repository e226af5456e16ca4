/*
 * pmivalues: values as long as a PMI-1 client library allows, put by every rank
 * and read back by the next.
 *
 *   pmivalues [-b]
 *
 *   -b   put blanks into the values and try one that is too long: older
 *        libraries read the one back cut, and put the other cut
 *
 * It is linked with several libraries of that interface: MPICH's own and
 * golaunch's libpmi. Prints "rank R of N: up to L bytes ok" and exits 0, or says on
 * stderr what is wrong and exits 1.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMI_Init(int *spawned);
int PMI_Finalize(void);
int PMI_Barrier(void);
int PMI_Get_rank(int *rank);
int PMI_Get_size(int *size);
int PMI_KVS_Get_my_name(char *name, int length);
int PMI_KVS_Get_value_length_max(int *length);
int PMI_KVS_Put(const char *name, const char *key, const char *value);
int PMI_KVS_Commit(const char *name);
int PMI_KVS_Get(const char *name, const char *key, char *value, int length);

static int rank = -1, size = -1;

static void die(const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "pmivalues: rank %d of %d: ", rank, size);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc != 0)
		die("%s failed with %d", what, rc);
}

/* value makes what rank r puts: n bytes, no two ranks' alike, and none that a
 * reader may cut short unnoticed. */
static void value(char *out, int n, int r, int blanks)
{
	for (int i = 0; i < n; i++)
		out[i] = (char)('A' + (i * 7 + r) % 26);
	for (int i = 3; i < n; i += 10)
		out[i] = blanks ? ' ' : '=';
	out[n] = 0;
}

int main(int argc, char **argv)
{
	int blanks = argc > 1 && strcmp(argv[1], "-b") == 0;
	char name[512], key[64], *want, *got;
	int spawned, max;

	must("PMI_Init", PMI_Init(&spawned));
	must("PMI_Get_rank", PMI_Get_rank(&rank));
	must("PMI_Get_size", PMI_Get_size(&size));
	must("PMI_KVS_Get_my_name", PMI_KVS_Get_my_name(name, sizeof name));
	must("PMI_KVS_Get_value_length_max", PMI_KVS_Get_value_length_max(&max));
	want = malloc((size_t)max + 1);
	got = malloc((size_t)max + 1);
	if (!want || !got || max < 256)
		die("values of less than %d bytes", max);

	const int lengths[] = { 1, max / 2, max - 2, max - 1 };
	const int n = sizeof lengths / sizeof *lengths;
	for (int i = 0; i < n; i++) {
		value(want, lengths[i], rank, blanks);
		snprintf(key, sizeof key, "r%d-%d", rank, i);
		must("PMI_KVS_Put", PMI_KVS_Put(name, key, want));
	}
	must("PMI_KVS_Commit", PMI_KVS_Commit(name));
	must("PMI_Barrier", PMI_Barrier());
	for (int i = 0; i < n; i++) {
		int other = (rank + 1) % size;

		value(want, lengths[i], other, blanks);
		snprintf(key, sizeof key, "r%d-%d", other, i);
		must("PMI_KVS_Get", PMI_KVS_Get(name, key, got, max));
		if (strcmp(got, want) != 0)
			die("%s is \"%s\", expected \"%s\"", key, got, want);
	}
	value(want, max, rank, blanks);
	if (blanks && PMI_KVS_Put(name, "toolong", want) == 0)
		die("a value of %d bytes was taken", max);
	must("PMI_Finalize", PMI_Finalize());
	printf("rank %d of %d: up to %d bytes ok\n", rank, size, max - 1);
	free(want);
	free(got);
	return 0;
}
