/* Namespaces that are registered, for what the helper answers itself. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

struct known {
	struct known *next;
	uint32_t size;
	char nspace[PX_NAMESPACE + 1];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *all;

static struct known **find(const char *nspace)
{
	struct known **at = &all;

	while (*at && strcmp((*at)->nspace, nspace) != 0)
		at = &(*at)->next;
	return at;
}

void known_add(const char *nspace, uint32_t size)
{
	struct known *k = take(1, sizeof *k);

	strncpy(k->nspace, nspace, PX_NAMESPACE);
	k->size = size;
	pthread_mutex_lock(&lock);
	k->next = all;
	all = k;
	pthread_mutex_unlock(&lock);
}

void known_drop(const char *nspace)
{
	struct known **at, *dropped;

	pthread_mutex_lock(&lock);
	at = find(nspace);
	dropped = *at;
	if (dropped)
		*at = dropped->next;
	pthread_mutex_unlock(&lock);
	free(dropped);
}

uint32_t known_size(const char *nspace)
{
	struct known *k;
	uint32_t size;

	pthread_mutex_lock(&lock);
	k = *find(nspace);
	size = k ? k->size : 0;
	pthread_mutex_unlock(&lock);
	return size;
}

char *known_names(void)
{
	size_t room = 1;
	char *names;

	pthread_mutex_lock(&lock);
	for (struct known *k = all; k; k = k->next)
		room += strlen(k->nspace) + 1;
	names = take(room, 1);
	for (struct known *k = all; k; k = k->next) {
		if (k != all)
			strcat(names, ",");
		strcat(names, k->nspace);
	}
	pthread_mutex_unlock(&lock);
	return names;
}
