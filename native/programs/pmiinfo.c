/*
 * pmiinfo: prints what golaunch's libpmi says of the job, for tests of the
 * library itself.
 *
 *   pmiinfo [KEY [LENGTH]]
 *
 *   KEY      a key to get, into a buffer of LENGTH bytes (64)
 *
 * Prints one line for each answer, "NAME ANSWER" or "NAME failed: CODE", and exits
 * 0; if PMI_Init fails, 1.
 */
#include <stdio.h>
#include <stdlib.h>

int PMI_Init(int *spawned);
int PMI_Initialized(int *initialized);
int PMI_Finalize(void);
int PMI_Barrier(void);
int PMI_Get_rank(int *rank);
int PMI_Get_size(int *size);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *appnum);
int PMI_Get_clique_size(int *size);
int PMI_Get_clique_ranks(int ranks[], int length);
int PMI_KVS_Get_my_name(char *name, int length);
int PMI_KVS_Put(const char *name, const char *key, const char *value);
int PMI_KVS_Get(const char *name, const char *key, char *value, int length);

static void show(const char *name, int rc, int answer)
{
	if (rc)
		printf("%s failed: %d\n", name, rc);
	else
		printf("%s %d\n", name, answer);
}

int main(int argc, char **argv)
{
	int rc, n = -1, *ranks, length = argc > 2 ? atoi(argv[2]) : 64;
	char name[64] = "", *value;

	rc = PMI_Get_rank(&n);
	show("rank before init", rc, n);
	rc = PMI_Init(&n);
	show("spawned", rc, n);
	if (rc)
		return 1;
	rc = PMI_Initialized(&n);
	show("initialized", rc, n);
	rc = PMI_Get_rank(&n);
	show("rank", rc, n);
	rc = PMI_Get_size(&n);
	show("size", rc, n);
	rc = PMI_Get_universe_size(&n);
	show("universe", rc, n);
	rc = PMI_Get_appnum(&n);
	show("appnum", rc, n);
	rc = PMI_KVS_Get_my_name(name, sizeof name);
	printf("name %d %s\n", rc, name);

	rc = PMI_Get_clique_size(&n);
	show("clique", rc, n);
	if (rc == 0 && n > 0) {
		ranks = malloc((size_t)n * sizeof *ranks);
		if (!ranks)
			return 1;
		rc = PMI_Get_clique_ranks(ranks, n);
		printf("ranks %d:", rc);
		for (int i = 0; rc == 0 && i < n; i++)
			printf(" %d", ranks[i]);
		printf("\n");
		show("too few ranks", PMI_Get_clique_ranks(ranks, n - 1), 0);
		free(ranks);
	}
	if (argc > 1 && length > 0) {
		value = malloc((size_t)length);
		if (!value)
			return 1;
		rc = PMI_KVS_Get(name, argv[1], value, length);
		printf("value %d \"%s\"\n", rc, rc ? "" : value);
		free(value);
	}
	show("put of a key with a blank", PMI_KVS_Put(name, "a b", "x"), 0);
	show("put of a value with a line feed", PMI_KVS_Put(name, "a", "x\ny"), 0);
	show("barrier", PMI_Barrier(), 0);
	show("finalize", PMI_Finalize(), 0);
	show("finalize again", PMI_Finalize(), 0);
	return 0;
}
