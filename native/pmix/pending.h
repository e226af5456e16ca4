/* Requests of the library that the agent has to answer, by number. */
#ifndef GOLAUNCH_PMIX_PENDING_H
#define GOLAUNCH_PMIX_PENDING_H

#include "frame.h"

/* A request. The answer's kind says which type its callback has. */
struct pending {
	struct pending *next;
	uint32_t request;
	enum kind answer;
	void (*callback)(void); /* px_op_fn, px_modex_fn, ... */
	void *with;
};

/* pending_add numbers a request. */
uint32_t pending_add(enum kind answer, void (*callback)(void), void *with);

/* pending_take finds a request and forgets it. The caller frees it. NULL if there is
 * none that expects such an answer. */
struct pending *pending_take(uint32_t request, enum kind answer);

#endif
