/* The table of requests. */
#include "pending.h"

#include <pthread.h>

enum { CHAINS = 256 };

static struct {
	pthread_mutex_t lock;
	uint32_t last;
	struct pending *chains[CHAINS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint32_t pending_add(enum kind answer, void (*callback)(void), void *with)
{
	struct pending *p = take(1, sizeof *p);

	p->answer = answer;
	p->callback = callback;
	p->with = with;
	pthread_mutex_lock(&table.lock);
	if (++table.last == 0)
		table.last = 1; /* 0 is no request */
	p->request = table.last;
	p->next = table.chains[p->request % CHAINS];
	table.chains[p->request % CHAINS] = p;
	pthread_mutex_unlock(&table.lock);
	return p->request;
}

struct pending *pending_take(uint32_t request, enum kind answer)
{
	struct pending **at, *found = NULL;

	pthread_mutex_lock(&table.lock);
	for (at = &table.chains[request % CHAINS]; *at; at = &(*at)->next) {
		if ((*at)->request == request && (*at)->answer == answer) {
			found = *at;
			*at = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&table.lock);
	return found;
}
