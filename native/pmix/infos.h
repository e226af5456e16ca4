/* Attributes with values: made for the library, and read that come from it. */
#ifndef GOLAUNCH_PMIX_INFOS_H
#define GOLAUNCH_PMIX_INFOS_H

#include "frame.h"
#include "library.h"

/* Memory that is given back all at once. */
struct arena {
	struct chunk *chunks;
};

void *arena_take(struct arena *a, size_t items, size_t bytes);
char *arena_text(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

/* A list of infos that grows. Texts, arrays and what they refer to are not copied: they
 * live as long as the arena, or longer. */
struct infos {
	struct arena *arena;
	struct px_info *list;
	size_t n, room;
};

void add_text(struct infos *i, const char *key, char *text);
void add_bool(struct infos *i, const char *key, bool v);
void add_u32(struct infos *i, const char *key, uint32_t v);
void add_u16(struct infos *i, const char *key, uint16_t v);
void add_size(struct infos *i, const char *key, size_t v);
void add_rank(struct infos *i, const char *key, uint32_t v);
void add_proc(struct infos *i, const char *key, struct px_proc *proc);
void add_regex(struct infos *i, const char *key, char *regex);
void add_bytes(struct infos *i, const char *key, char *bytes, size_t n);
void add_array(struct infos *i, const char *key, uint16_t type, void *items, size_t n);

bool info_is(const struct px_info *info, const char *key);

/* info_find finds the first with a key: NULL if there is none. */
const struct px_info *info_find(const struct px_info *infos, size_t n, const char *key);

/* info_true is an info's flag: true if it has no value, false if it is not there. */
bool info_true(const struct px_info *infos, size_t n, const char *key);

/* info_number is an info's number, or another if it is not there. */
int64_t info_number(const struct px_info *infos, size_t n, const char *key, int64_t otherwise);

/* value_text says a value in words: NULL for one that can't be. The caller frees it. */
char *value_text(const struct px_value *v);

/* Processes in frames. A list is written sorted, each process once. */
void out_proc(struct out *o, const struct px_proc *proc);
void out_procs(struct out *o, const struct px_proc *procs, size_t n);
void read_proc(struct reader *r, struct px_proc *proc);

/* out_packed writes a value as data, packed by the library; unpack takes such a value.
 * They return a status. px_free_value frees what it has then. */
int out_packed(struct out *o, struct px_value *value);
int unpack(const unsigned char *data, uint32_t length, struct px_value *value);

/* out_packed_infos writes infos as data, none if there are none; unpack_infos appends
 * such infos to a list. They return a status. */
int out_packed_infos(struct out *o, struct px_info *infos, size_t n);
int unpack_infos(const unsigned char *data, uint32_t length, struct infos *infos);

#endif
