/*
 * The file in which the ranks of a node and their agent share the counters of one
 * world: words of 8 bytes. The agent makes it (internal/profile/layout.go has the same
 * numbers) and names it in GOLAUNCH_COUNTERS, with the slot of the rank in it.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#define COUNTERS_VARIABLE "GOLAUNCH_COUNTERS"
#define LAYOUT_MAGIC 0x676c70726f663031 /* glprof01 */

enum { /* of the header; offsets are in bytes */
	HEADER_MAGIC,
	HEADER_RANKS,   /* on the node */
	HEADER_SIZE,    /* of the world */
	HEADER_COLUMNS, /* of a pair: messages, bytes, maybe nanoseconds */
	HEADER_HEADS,   /* offset of the heads */
	HEADER_SENT,    /* offset of what ranks sent: a row for each slot, in it each rank of the world */
	HEADER_GOT,     /* offset of what they got from others' windows */
	HEADER_POOL,    /* offset of the pool of records */
	HEADER_CAPACITY,
	HEADER_NEXT, /* records that are given away */
	HEADER_WORDS = 16
};

enum { /* of a rank's head */
	HEAD_STATE,
	HEAD_ON,   /* 1 while it counts */
	HEAD_RANK, /* in the world, plus 1 */
	HEAD_OUTSIDE,
	HEAD_DROPPED = 6,
	HEAD_MPI = 8, /* text to the end */
	HEAD_WORDS = 16
};

enum { STATE_ABSENT, STATE_CLAIMED, STATE_COUNTING, STATE_FINISHED };

/*
 * A record of the pool: slot + 1 (low half) and operation (high half; 0 for a
 * communicator), the communicator, root + 1 and size class (of a communicator
 * this rank's number and the size), calls, bytes, nanoseconds (of a communicator
 * whether it is an intercommunicator).
 */
enum { RECORD_WHOSE, RECORD_COMM, RECORD_WHAT, RECORD_COUNTS, RECORD_WORDS = 8 };

enum operation { /* as in internal/profile/operations.go */
	OP_Barrier = 1,
	OP_Bcast,
	OP_Gather,
	OP_Gatherv,
	OP_Scatter,
	OP_Scatterv,
	OP_Allgather,
	OP_Allgatherv,
	OP_Alltoall,
	OP_Alltoallv,
	OP_Alltoallw,
	OP_Reduce,
	OP_Allreduce,
	OP_Reduce_scatter,
	OP_Reduce_scatter_block,
	OP_Scan,
	OP_Exscan,
	OP_Neighbor_allgather,
	OP_Neighbor_allgatherv,
	OP_Neighbor_alltoall,
	OP_Neighbor_alltoallv,
	OP_Neighbor_alltoallw
};

#endif
