/*
 * The table of calls that count. It is read twice: with COUNT int, and, where MPI
 * has them, for the calls whose names end in _c, with COUNT MPI_Count.
 *
 *   CALL(name, parameters, arguments, what it counts)
 *   START(...) the same of a call that makes a persistent request
 *   COLL(Name, name, parameters, arguments, what it counts): MPI_Name, MPI_Iname
 *     and, from MPI 4 on, MPI_Name_init
 *
 * What is counted are the functions of count.h.
 */

#define TO_PEER (const void *buf, COUNT n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
#define TO_PEER_ARGS (buf, n, type, to, tag, comm)
#define TO_PEER_REQUEST (const void *buf, COUNT n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
#define TO_PEER_REQUEST_ARGS (buf, n, type, to, tag, comm, request)
#define SENT sent(plan, comm, to, (uint64_t)n, type)

CALL(Send, TO_PEER, TO_PEER_ARGS, SENT)
CALL(Bsend, TO_PEER, TO_PEER_ARGS, SENT)
CALL(Ssend, TO_PEER, TO_PEER_ARGS, SENT)
CALL(Rsend, TO_PEER, TO_PEER_ARGS, SENT)
CALL(Isend, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
CALL(Ibsend, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
CALL(Issend, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
CALL(Irsend, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
START(Send_init, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
START(Bsend_init, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
START(Ssend_init, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)
START(Rsend_init, TO_PEER_REQUEST, TO_PEER_REQUEST_ARGS, SENT)

#define EXCHANGE const void *buf, COUNT n, MPI_Datatype type, int to, int tag, void *in, COUNT num_in, \
	MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm
#define REPLACE void *buf, COUNT n, MPI_Datatype type, int to, int tag, int from, int in_tag, MPI_Comm comm

CALL(Sendrecv, (EXCHANGE, MPI_Status *status), (buf, n, type, to, tag, in, num_in, in_type, from, in_tag, comm, status), SENT)
CALL(Sendrecv_replace, (REPLACE, MPI_Status *status), (buf, n, type, to, tag, from, in_tag, comm, status), SENT)
#if MPI_VERSION >= 4
CALL(Isendrecv, (EXCHANGE, MPI_Request *request), (buf, n, type, to, tag, in, num_in, in_type, from, in_tag, comm, request), SENT)
CALL(Isendrecv_replace, (REPLACE, MPI_Request *request), (buf, n, type, to, tag, from, in_tag, comm, request), SENT)
#endif

/* One-sided: origin is this process's part, which says how much moves. */
#define ORIGIN(const_) const_ void *buf, COUNT n, MPI_Datatype type
#define TARGET int to, MPI_Aint at, COUNT num_at, MPI_Datatype at_type
#define RESULT void *result, COUNT num_result, MPI_Datatype result_type
#define PUT put(plan, win, to, (uint64_t)n, type)
#define GET get(plan, win, to, (uint64_t)n, type)
#define BOTH put_get(plan, win, to, (uint64_t)n, type, (uint64_t)num_result, result_type, op)

CALL(Put, (ORIGIN(const), TARGET, MPI_Win win), (buf, n, type, to, at, num_at, at_type, win), PUT)
CALL(Get, (ORIGIN(), TARGET, MPI_Win win), (buf, n, type, to, at, num_at, at_type, win), GET)
CALL(Accumulate, (ORIGIN(const), TARGET, MPI_Op op, MPI_Win win), (buf, n, type, to, at, num_at, at_type, op, win), PUT)
CALL(Get_accumulate, (ORIGIN(const), RESULT, TARGET, MPI_Op op, MPI_Win win),
     (buf, n, type, result, num_result, result_type, to, at, num_at, at_type, op, win), BOTH)
CALL(Rput, (ORIGIN(const), TARGET, MPI_Win win, MPI_Request *request), (buf, n, type, to, at, num_at, at_type, win, request), PUT)
CALL(Rget, (ORIGIN(), TARGET, MPI_Win win, MPI_Request *request), (buf, n, type, to, at, num_at, at_type, win, request), GET)
CALL(Raccumulate, (ORIGIN(const), TARGET, MPI_Op op, MPI_Win win, MPI_Request *request),
     (buf, n, type, to, at, num_at, at_type, op, win, request), PUT)
CALL(Rget_accumulate, (ORIGIN(const), RESULT, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request),
     (buf, n, type, result, num_result, result_type, to, at, num_at, at_type, op, win, request), BOTH)

/* Collective. */
#define OUT const void *buf, COUNT n, MPI_Datatype type
#define OUT_EACH const void *buf, const COUNT *ns, const PLACE *at, MPI_Datatype type
#define OUT_ANY const void *buf, const COUNT *ns, const PLACE *at, const MPI_Datatype *types
#define IN void *in, COUNT num_in, MPI_Datatype in_type
#define IN_EACH void *in, const COUNT *nums_in, const PLACE *in_at, MPI_Datatype in_type
#define IN_ANY void *in, const COUNT *nums_in, const PLACE *in_at, const MPI_Datatype *in_types

COLL(Bcast, bcast, (void *buf, COUNT n, MPI_Datatype type, int root, MPI_Comm comm), (buf, n, type, root, comm),
     from_root(plan, OP_Bcast, comm, root, bytes_of((uint64_t)n, type), 0))
COLL(Gather, gather, (OUT, IN, int root, MPI_Comm comm), (buf, n, type, in, num_in, in_type, root, comm),
     to_root(plan, OP_Gather, comm, root, buf == MPI_IN_PLACE ? bytes_of((uint64_t)num_in, in_type) : bytes_of((uint64_t)n, type)))
COLL(Gatherv, gatherv, (OUT, IN_EACH, int root, MPI_Comm comm), (buf, n, type, in, nums_in, in_at, in_type, root, comm),
     part_to_root(plan, comm, root, buf == MPI_IN_PLACE ? 0 : bytes_of((uint64_t)n, type)))
COLL(Scatter, scatter, (OUT, IN, int root, MPI_Comm comm), (buf, n, type, in, num_in, in_type, root, comm),
     from_root(plan, OP_Scatter, comm, root, i_am_root(comm, root) ? bytes_of((uint64_t)n, type) : bytes_of((uint64_t)num_in, in_type), 1))
COLL(Scatterv, scatterv, (OUT_EACH, IN, int root, MPI_Comm comm), (buf, ns, at, type, in, num_in, in_type, root, comm),
     PARTS(OP_Scatterv, comm, root, i_am_root(comm, root) ? remote_size(comm) : 0, ns[i], type))
COLL(Allgather, allgather, (OUT, IN, MPI_Comm comm), (buf, n, type, in, num_in, in_type, comm),
     to_all(plan, OP_Allgather, comm, buf == MPI_IN_PLACE ? bytes_of((uint64_t)num_in, in_type) : bytes_of((uint64_t)n, type)))
COLL(Allgatherv, allgatherv, (OUT, IN_EACH, MPI_Comm comm), (buf, n, type, in, nums_in, in_at, in_type, comm),
     to_all_of(plan, OP_Allgatherv, comm, SUM(comm, nums_in, in_type),
	       buf == MPI_IN_PLACE ? bytes_of((uint64_t)nums_in[my_rank(comm)], in_type) : bytes_of((uint64_t)n, type)))
COLL(Alltoall, alltoall, (OUT, IN, MPI_Comm comm), (buf, n, type, in, num_in, in_type, comm),
     each_to_each(plan, comm, buf == MPI_IN_PLACE ? bytes_of((uint64_t)num_in, in_type) : bytes_of((uint64_t)n, type)))
COLL(Alltoallv, alltoallv, (OUT_EACH, IN_EACH, MPI_Comm comm), (buf, ns, at, type, in, nums_in, in_at, in_type, comm),
     PARTS(OP_Alltoallv, comm, -1, remote_size(comm), buf == MPI_IN_PLACE ? nums_in[i] : ns[i], buf == MPI_IN_PLACE ? in_type : type))
COLL(Reduce, reduce, (const void *buf, void *in, COUNT n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (buf, in, n, type, op, root, comm), to_root(plan, OP_Reduce, comm, root, bytes_of((uint64_t)n, type)))

#define REDUCES (const void *buf, void *in, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define REDUCES_ARGS (buf, in, n, type, op, comm)

COLL(Allreduce, allreduce, REDUCES, REDUCES_ARGS, to_all(plan, OP_Allreduce, comm, bytes_of((uint64_t)n, type)))
COLL(Scan, scan, REDUCES, REDUCES_ARGS, to_all(plan, OP_Scan, comm, bytes_of((uint64_t)n, type)))
COLL(Exscan, exscan, REDUCES, REDUCES_ARGS, to_all(plan, OP_Exscan, comm, bytes_of((uint64_t)n, type)))
COLL(Reduce_scatter, reduce_scatter, (const void *buf, void *in, const COUNT *nums_in, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (buf, in, nums_in, type, op, comm), to_all(plan, OP_Reduce_scatter, comm, SUM(comm, nums_in, type)))
COLL(Reduce_scatter_block, reduce_scatter_block, REDUCES, REDUCES_ARGS,
     to_all(plan, OP_Reduce_scatter_block, comm, bytes_of((uint64_t)n, type) * (uint64_t)remote_size(comm)))
COLL(Neighbor_allgather, neighbor_allgather, (OUT, IN, MPI_Comm comm), (buf, n, type, in, num_in, in_type, comm),
     NEIGHBORS(OP_Neighbor_allgather, comm, n, type))
COLL(Neighbor_allgatherv, neighbor_allgatherv, (OUT, IN_EACH, MPI_Comm comm), (buf, n, type, in, nums_in, in_at, in_type, comm),
     NEIGHBORS(OP_Neighbor_allgatherv, comm, n, type))
COLL(Neighbor_alltoall, neighbor_alltoall, (OUT, IN, MPI_Comm comm), (buf, n, type, in, num_in, in_type, comm),
     NEIGHBORS(OP_Neighbor_alltoall, comm, n, type))
COLL(Neighbor_alltoallv, neighbor_alltoallv, (OUT_EACH, IN_EACH, MPI_Comm comm), (buf, ns, at, type, in, nums_in, in_at, in_type, comm),
     NEIGHBORS(OP_Neighbor_alltoallv, comm, ns[i], type))
COLL(Alltoallw, alltoallw, (OUT_ANY, IN_ANY, MPI_Comm comm), (buf, ns, at, types, in, nums_in, in_at, in_types, comm),
     PARTS(OP_Alltoallw, comm, -1, remote_size(comm), buf == MPI_IN_PLACE ? nums_in[i] : ns[i], buf == MPI_IN_PLACE ? in_types[i] : types[i]))
COLL(Neighbor_alltoallw, neighbor_alltoallw,
     (const void *buf, const COUNT *ns, const MPI_Aint *at, const MPI_Datatype *types,
      void *in, const COUNT *nums_in, const MPI_Aint *in_at, const MPI_Datatype *in_types, MPI_Comm comm),
     (buf, ns, at, types, in, nums_in, in_at, in_types, comm), NEIGHBORS(OP_Neighbor_alltoallw, comm, ns[i], types[i]))
