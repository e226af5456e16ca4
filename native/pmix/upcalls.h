/* Parts of the module that have a file of their own, and what they share. */
#ifndef GOLAUNCH_PMIX_UPCALLS_H
#define GOLAUNCH_PMIX_UPCALLS_H

#include "frame.h"
#include "library.h"

typedef void (*any_fn)(void);

/* ask_begin begins a request, and numbers it; ask_send sends it, unless what has been
 * packed for it failed, and returns what the library is to hear. */
uint32_t ask_begin(struct out *o, enum kind kind, enum kind answer, any_fn callback, void *with);
int ask_send(struct out *o, uint32_t request, enum kind answer, int status);

/* ask_timeout returns the timeout in infos, in seconds: 0 for none. */
uint32_t ask_timeout(const struct px_info *infos, size_t n);

/* out_texts writes texts, which NULL ends, as a list. */
void out_texts(struct out *o, char **texts);

int query(struct px_proc *proc, struct px_query *queries, size_t n, px_info_fn *done, void *with);
int publish(const struct px_proc *proc, const struct px_info *infos, size_t n, px_op_fn *done, void *with);
int lookup(const struct px_proc *proc, char **keys, const struct px_info *infos, size_t n, px_lookup_fn *done,
	   void *with);
int unpublish(const struct px_proc *proc, char **keys, const struct px_info *infos, size_t n, px_op_fn *done,
	      void *with);

#endif
