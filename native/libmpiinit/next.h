/* Functions behind those that a preloaded library has itself. */
#ifndef NEXT_H
#define NEXT_H

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* object is a part of what is loaded: the program, or a library. */
struct object {
	uintptr_t from, to; /* its place in memory */
	const char *file;   /* NULL for none; the program's may be "" */
};

/* object_of is the one that an address is in. */
HIDDEN struct object object_of(const void *address);

/* next_of is the function of a name that who calls from an address would have without this
 * library; NULL for none. A caller of NULL is nobody in particular. */
HIDDEN void *next_of(const char *name, const void *caller);

#endif
