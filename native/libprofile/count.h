/* The counting of calls. A function returns the counters that get the time of the
 * call, or NULL. With a plan it counts nothing and notes what is to be counted. */
#ifndef COUNT_H
#define COUNT_H

#include "book.h"

/* party is the ranks of a communicator, if anything is to be done about it. */
static inline struct peers *party(struct plan *plan, MPI_Comm comm)
{
	return plan || LIKELY(counting()) ? of_comm(comm) : NULL;
}

static inline uint64_t *sent(struct plan *plan, MPI_Comm comm, int to, uint64_t n, MPI_Datatype type)
{
	struct peers *p = party(plan, comm);

	return LIKELY(p) ? moved(plan, book.sent, p, to, bytes_of(n, type)) : NULL;
}

static inline uint64_t *put(struct plan *plan, MPI_Win win, int to, uint64_t n, MPI_Datatype type)
{
	struct peers *p = counting() ? of_win(win) : NULL;

	return p ? moved(plan, book.sent, p, to, bytes_of(n, type)) : NULL;
}

static inline uint64_t *get(struct plan *plan, MPI_Win win, int from, uint64_t n, MPI_Datatype type)
{
	struct peers *p = counting() ? of_win(win) : NULL;

	return p ? moved(plan, book.got, p, from, bytes_of(n, type)) : NULL;
}

/* put_get is an operation that sends what it has, but for MPI_NO_OP, and gets what
 * was there before. */
static inline uint64_t *put_get(struct plan *plan, MPI_Win win, int to, uint64_t n, MPI_Datatype type, uint64_t num_result,
				MPI_Datatype result_type, MPI_Op op)
{
	get(plan, win, to, num_result, result_type);
	return op == no_op() ? NULL : put(plan, win, to, n, type);
}

static inline int remote_size(MPI_Comm comm)
{
	struct peers *p = of_comm(comm);

	return p ? p->size : 0;
}

static inline int my_rank(MPI_Comm comm)
{
	struct peers *p = of_comm(comm);

	return p ? p->rank : 0;
}

static inline int is_root(const struct peers *p, int root) { return p->inter ? root == MPI_ROOT : root == p->rank; }

static inline int i_am_root(MPI_Comm comm, int root)
{
	struct peers *p = of_comm(comm);

	return p && is_root(p, root);
}

/* from_root is an operation to which the root gives, as much for each rank if it is
 * in parts. */
static inline uint64_t *from_root(struct plan *plan, enum operation op, MPI_Comm comm, int root, uint64_t bytes, int in_parts)
{
	struct peers *p = party(plan, comm);

	if (!p)
		return NULL;
	return collective(plan, op, p, root, bytes, is_root(p, root) ? bytes * (in_parts ? (uint64_t)p->size : 1) : 0);
}

/* to_root is an operation to which all give, between groups those on the root's
 * other side. */
static inline uint64_t *to_root(struct plan *plan, enum operation op, MPI_Comm comm, int root, uint64_t bytes)
{
	struct peers *p = party(plan, comm);

	return p ? collective(plan, op, p, root, bytes, p->inter && root < 0 ? 0 : bytes) : NULL;
}

static inline uint64_t *to_all_of(struct plan *plan, enum operation op, MPI_Comm comm, uint64_t size, uint64_t bytes)
{
	struct peers *p = party(plan, comm);

	return p ? collective(plan, op, p, -1, size, bytes) : NULL;
}

static inline uint64_t *to_all(struct plan *plan, enum operation op, MPI_Comm comm, uint64_t bytes)
{
	return to_all_of(plan, op, comm, bytes, bytes);
}

static inline uint64_t *each_to_each(struct plan *plan, MPI_Comm comm, uint64_t block)
{
	return to_all_of(plan, OP_Alltoall, comm, block, block * (uint64_t)remote_size(comm));
}

static inline uint64_t *part_to_root(struct plan *plan, MPI_Comm comm, int root, uint64_t bytes)
{
	struct peers *p = party(plan, comm);

	if (!p)
		return NULL;
	if (bytes)
		moved(plan, book.sent, p, root, bytes);
	return collective(plan, OP_Gatherv, p, root, 0, p->inter && root < 0 ? 0 : bytes);
}

/* Expressions with the index i of a rank. */

/* SUM is the volume of n[i] elements of all ranks. */
#define SUM(comm, n, type) ({ \
	uint64_t sum_ = 0; \
	for (int i = plan || counting() ? remote_size(comm) : 0; i-- > 0;) \
		sum_ += (uint64_t)(n)[i]; \
	sum_ ? bytes_of(sum_, type) : 0; })

/* PARTS is n elements, which depends on i, to each of the first ranks. */
#define PARTS(op, comm, root, ranks, n, type) ({ \
	struct peers *p_ = party(plan, comm); \
	uint64_t all_ = 0; \
	for (int i = 0, ranks_ = p_ ? (ranks) : 0; i < ranks_; i++) { \
		uint64_t bytes_ = bytes_of((uint64_t)(n), type); \
		all_ += bytes_; \
		if (bytes_) \
			moved(plan, book.sent, p_, i, bytes_); \
	} \
	p_ ? collective(plan, op, p_, root, 0, all_) : NULL; })

/* NEIGHBORS is n elements, which may depend on i, to neighbor i. */
#define NEIGHBORS(op, comm, n, type) ({ \
	struct peers *p_ = party(plan, comm); \
	uint64_t all_ = 0; \
	for (int i = 0, ranks_ = p_ && know_neighbors(comm, p_) ? p_->num_to : 0; i < ranks_; i++) { \
		uint64_t bytes_ = p_->to[i] < 0 ? 0 : bytes_of((uint64_t)(n), type); \
		all_ += bytes_; \
		if (bytes_) \
			moved(plan, book.sent, p_, p_->to[i], bytes_); \
	} \
	p_ ? collective(plan, op, p_, -1, 0, all_) : NULL; })

#endif
