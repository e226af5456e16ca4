/* The parts of golaunch-pmix, each of which is told of the others' what it needs. */
#ifndef GOLAUNCH_PMIX_SERVER_H
#define GOLAUNCH_PMIX_SERVER_H

#include "frame.h"
#include "library.h"

/* The agent's Init, and the directory of the helper's files. */
struct server {
	struct px_proc self;
	char *host;
	char *dir; /* of the helper alone, in the directory of Init: it is removed at the end */
};

extern struct server server;

/* upcalls_module returns the functions for the library, a pmix_server_module_t
 * (upcalls.c). */
void **upcalls_module(void);

/* register_world answers a World: everything of it is read from its body, which may be
 * freed afterwards (register.c). */
void register_world(const struct frame *f);

/* Namespaces that are registered (known.c). */
void known_add(const char *nspace, uint32_t size);
void known_drop(const char *nspace);

/* known_size is the number of a namespace's ranks, 0 for an unknown one. */
uint32_t known_size(const char *nspace);

/* known_names has all names, with commas between. The caller frees them. */
char *known_names(void);

/* owner_gone waits, not for long, until the library has seen the end of all connections
 * whose processes have ended (owner.c). */
void owner_gone(void);

/* answer hands a frame to the library: an answer of the agent, or a request. It takes
 * the body over. It returns NULL, or what cannot be (answers.c). */
const char *answer(struct frame *f);

#endif
