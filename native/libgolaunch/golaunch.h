/*
 * golaunch.h: the tree of a golaunch job as a service to its programs.
 *
 * Collective operations and messages between ranks, communicators, and the
 * world's bulletin board, whatever programming model the program follows. It
 * needs no MPI and does not disturb one in the same process. Link with
 * -lgolaunch. docs/client.md describes the protocol, package client is the same
 * for Go.
 *
 * Operations of a communicator are collective: every member begins the same
 * ones, in the same order. Those whose name begins with golaunch_i return at
 * once, and any number of them may be under way; their buffers are the library's
 * until golaunch_wait. Nothing moves but inside of calls (golaunch_progress).
 *
 * Threads: any of them may call, but one at a time, of all functions that take a
 * job, a communicator or a request; the program holds a lock. A call that waits
 * keeps the others out until it returns: those that call meanwhile get an error.
 * golaunch_error is of the thread's own calls, and golaunch_board_get may be called
 * by many at a time. A process that was forked after golaunch_open has no part in the
 * job: its calls are errors, and golaunch_close frees its copies.
 *
 * Functions that return int return 0, or -1; those that return a pointer return
 * NULL where something is wrong. golaunch_error then says which call failed, and why.
 * NULL for a job, a communicator, a key, or a buffer that has bytes, is such an error. A
 * communicator that was freed, and all of a job that was closed, must not be used.
 */
#ifndef GOLAUNCH_H
#define GOLAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, which is in the library's file name, too: a program
 * runs with a library of the version that it was built with, and with no other. */
#define GOLAUNCH_VERSION 1

typedef struct golaunch_job golaunch_job;
typedef struct golaunch_comm golaunch_comm;
typedef struct golaunch_request golaunch_request;

/* The type of the elements that a reduction combines. */
typedef enum {
	GOLAUNCH_INT32 = 0x10,
	GOLAUNCH_INT64 = 0x20,
	GOLAUNCH_UINT64 = 0x30,
	GOLAUNCH_FLOAT = 0x40,
	GOLAUNCH_DOUBLE = 0x50,
	GOLAUNCH_UINT8 = 0x60
} golaunch_type;

/* Operations of reductions. The bitwise three, AND, OR and XOR, are not for floats.
 * MINLOC and MAXLOC combine struct golaunch_indexed, of the type that is named: the
 * least (greatest) value with its index; of equal ones the lowest index. */
typedef enum {
	GOLAUNCH_SUM = 1,
	GOLAUNCH_PROD,
	GOLAUNCH_MIN,
	GOLAUNCH_MAX,
	GOLAUNCH_AND,
	GOLAUNCH_OR,
	GOLAUNCH_XOR,
	GOLAUNCH_MINLOC,
	GOLAUNCH_MAXLOC
} golaunch_op;

/* A value, and whose it is. */
struct golaunch_indexed {
	int64_t index;
	union {
		int32_t int32;
		int64_t int64;
		uint64_t uint64;
		float f;
		double d;
		uint8_t uint8;
	} of;
};

/* Any source, or any tag, of a message. */
#define GOLAUNCH_ANY (-1)

/* The text of the last failure of any call. */
const char *golaunch_error(void);

/* The kind of that failure. Where a rank that is needed has left, *member, unless
 * member is NULL, becomes its number in the communicator (in the world, of
 * golaunch_sub), -1 where it is not known. */
typedef enum {
	GOLAUNCH_OTHER,
	GOLAUNCH_LEFT,
	GOLAUNCH_MISMATCH,  /* members disagree about an operation */
	GOLAUNCH_TRUNCATED, /* a message is longer than the buffer */
	GOLAUNCH_FREED      /* the communicator was freed */
} golaunch_cause;
golaunch_cause golaunch_error_cause(int *member);

/* Connects this rank to the agent of its node. A process opens the job once. */
golaunch_job *golaunch_open(void);

/* Says goodbye and frees the job, its communicators and requests. Ranks that wait
 * for this one get an error that names it. NULL does nothing but set the error. */
void golaunch_close(golaunch_job *job);

/* The world: all ranks. */
golaunch_comm *golaunch_world(golaunch_job *job);

int golaunch_node(const golaunch_job *job);  /* number of this rank's node */
int golaunch_nodes(const golaunch_job *job); /* nodes with ranks of the world */

int golaunch_rank(const golaunch_comm *comm);
int golaunch_size(const golaunch_comm *comm);

/* Returns when the operation is complete, frees the request and sets it to NULL. After 0
 * the agent has all that others need of this rank for it: the program may end. A request
 * that is NULL is an error: that of the call which gave it. So is the copy of one that
 * was waited for. Neither does harm. */
int golaunch_wait(golaunch_request **request);

/* A received message, for golaunch_wait_message. */
struct golaunch_message {
	int source;
	int tag;
	size_t size;
};

/* golaunch_wait for a receive. */
int golaunch_wait_message(golaunch_request **request, struct golaunch_message *message);

/* 1 if golaunch_wait would return at once, well or not, 0 if it would wait. The request
 * is still to be waited for. */
int golaunch_test(golaunch_request *request);

/* Waits until golaunch_wait for one of the requests would return at once, and returns its
 * place in the list, the first of several. It is still to be waited for. Those that are
 * NULL are passed over; -1 where all are, or one is no request. */
int golaunch_waitany(golaunch_request *const *requests, int count);

/* The same, but returns count where it would wait. */
int golaunch_testany(golaunch_request *const *requests, int count);

/* The descriptor of the connection, for poll with *events, to wait for other things as
 * well. Before each poll, ask golaunch_testany for all requests that are waited for:
 * golaunch_test of one may have taken what came for another, and poll tells nothing of
 * that. The program neither reads, writes nor closes it. Events may be NULL. */
int golaunch_fd(const golaunch_job *job, short *events);

/* Does for all that is under way what can be done without waiting. Long operations and
 * messages take turns of both sides: a program that computes meanwhile calls this now and
 * then, or has a thread call it, with its lock, after each poll. Requests that fail by it
 * tell when they are waited for; -1 says that nothing works any more. */
int golaunch_progress(golaunch_job *job);

/* Has calls that wait do so by a function, not by poll: it returns 0 when the descriptor
 * may be ready for the events, as poll has them. Meanwhile other threads may call, one at
 * a time: a function gives up the program's lock while it waits, and takes it again.
 * Returns it anything else, all that is under way ends, with the error that the job was
 * closed, and golaunch_close is to follow. NULL: poll, as at first. */
typedef int golaunch_waits(int fd, short events, void *data);
int golaunch_wait_by(golaunch_job *job, golaunch_waits *waits, void *data);

/* The number of times that something came of the agent so far: a call of any thread
 * takes that for all, and where this has changed a function of golaunch_wait_by has
 * the others look. */
unsigned long golaunch_heard(const golaunch_job *job);

/* size is the bytes that one member gives to, or gets from, one other. send and recv
 * may be one buffer where something is combined, and in a gather, allgather or
 * scatter a rank's own part may be at its place in the whole; those of an all-to-all
 * share nothing. */
golaunch_request *golaunch_ibarrier(golaunch_comm *comm);
golaunch_request *golaunch_ibcast(golaunch_comm *comm, int root, void *buf, size_t size);
golaunch_request *golaunch_igather(golaunch_comm *comm, int root, const void *send, void *recv, size_t size);
golaunch_request *golaunch_iallgather(golaunch_comm *comm, const void *send, void *recv, size_t size);
golaunch_request *golaunch_iscatter(golaunch_comm *comm, int root, const void *send, void *recv, size_t size);
golaunch_request *golaunch_ialltoall(golaunch_comm *comm, const void *send, void *recv, size_t size);
golaunch_request *golaunch_ireduce(golaunch_comm *comm, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
golaunch_request *golaunch_iallreduce(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);

/* Each member gets its part, of size bytes, of what an allreduce of send makes: send has
 * one part after the other, for all members. It costs what that allreduce does. */
golaunch_request *golaunch_ireduce_scatter(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);

/* recv becomes what members 0 to this one have together; of an exscan, without this one:
 * member 0's recv stays as it is. */
golaunch_request *golaunch_iscan(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
golaunch_request *golaunch_iexscan(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);

/* Tags are 0 to 2^31-1. A message that is longer than its receive is lost. */
golaunch_request *golaunch_isend(golaunch_comm *comm, int dst, int tag, const void *data, size_t size);
golaunch_request *golaunch_irecv(golaunch_comm *comm, int src, int tag, void *buf, size_t room);

/* A receive of a message however long. When golaunch_wait has returned 0, *data, for
 * free(), has it, and a zero behind it; golaunch_wait_message tells its length. */
golaunch_request *golaunch_irecv_alloc(golaunch_comm *comm, int src, int tag, void **data);

int golaunch_barrier(golaunch_comm *comm);
int golaunch_bcast(golaunch_comm *comm, int root, void *buf, size_t size);
int golaunch_gather(golaunch_comm *comm, int root, const void *send, void *recv, size_t size);
int golaunch_allgather(golaunch_comm *comm, const void *send, void *recv, size_t size);
int golaunch_scatter(golaunch_comm *comm, int root, const void *send, void *recv, size_t size);
int golaunch_alltoall(golaunch_comm *comm, const void *send, void *recv, size_t size);
int golaunch_reduce(golaunch_comm *comm, int root, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
int golaunch_allreduce(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
int golaunch_reduce_scatter(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
int golaunch_scan(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
int golaunch_exscan(golaunch_comm *comm, golaunch_type type, golaunch_op op, const void *send, void *recv, size_t size);
int golaunch_send(golaunch_comm *comm, int dst, int tag, const void *data, size_t size);
int golaunch_recv(golaunch_comm *comm, int src, int tag, void *buf, size_t room, struct golaunch_message *message);
int golaunch_recv_alloc(golaunch_comm *comm, int src, int tag, void **data, struct golaunch_message *message);

/* Waits until there is a message for a receive of src and tag, and describes it. It stays. */
int golaunch_probe(golaunch_comm *comm, int src, int tag, struct golaunch_message *message);

/* Asks whether there is such a message at this rank's node now: 1 and what it is, or 0. */
int golaunch_tryprobe(golaunch_comm *comm, int src, int tag, struct golaunch_message *message);

/* Gathers parts of any lengths, count elements of this member, each of so many bytes. *recv,
 * for free(), gets them one after the other, in the order of members, at root or everywhere;
 * elsewhere it becomes NULL, and may be NULL. counts, of golaunch_size members, or NULL, gets the
 * number of each member's elements, everywhere. docs/client.md has the costs. */
int golaunch_gatherv(golaunch_comm *comm, int root, const void *send, size_t count, size_t element, void **recv, size_t *counts);
int golaunch_allgatherv(golaunch_comm *comm, const void *send, size_t count, size_t element, void **recv, size_t *counts);

/* Reductions by a function of the program, which combines *next into *sum, each one
 * element of so many bytes: members' elements in their order. It need be neither
 * commutative nor associative. Agents cannot run it: everyone's send goes to root, or to
 * everyone, which calls it for all of them. It must not call this library. */
typedef void golaunch_function(void *sum, const void *next, void *arg);
int golaunch_reduce_func(golaunch_comm *comm, int root, golaunch_function *f, void *arg, size_t element, const void *send, void *recv, size_t size);
int golaunch_allreduce_func(golaunch_comm *comm, golaunch_function *f, void *arg, size_t element, const void *send, void *recv, size_t size);

/* A communicator of some ranks of the world, in the order given; these ranks,
 * and no others, call it with the same list. */
golaunch_comm *golaunch_sub(golaunch_job *job, const int *ranks, int count);

/* A communicator for each color, ordered by key, then by rank in comm. *made is
 * NULL for a member with a negative color. The agents sort; no process holds a
 * list of the members. */
int golaunch_split(golaunch_comm *comm, int color, int key, golaunch_comm **made);

/* *made is set when golaunch_wait has returned 0. */
golaunch_request *golaunch_isplit(golaunch_comm *comm, int color, int key, golaunch_comm **made);

/* A communicator of the members that live, in their order, where others have left (their
 * error is "rank N has left"), or none has. All that live call it; they need not know who
 * does. One that does not call it keeps the others waiting. comm stays, and what is under way
 * over it. */
golaunch_comm *golaunch_shrink(golaunch_comm *comm);

/* Where a member of comm is, or was before it left: its rank in the world and its node.
 * Either may be NULL. */
int golaunch_locate(golaunch_comm *comm, int rank, int *world_rank, int *node);

/* The network between the job's hosts, as golaunch --topology knows it: how many levels
 * of switches it has (tii_get_network_depth); 0 where it is not known. At depth 1 all
 * hosts are together, the last depth is that of leaf switches. */
int golaunch_network_depth(const golaunch_job *job);

/* In how many switch clusters the world's hosts are at a depth
 * (tii_num_switch_clusters_at_depth). */
int golaunch_switch_clusters(const golaunch_job *job, int depth);

/* The switch cluster at a depth of the host that a rank of the world is on
 * (tii_connected_switch_cluster_at_depth): the same number for all ranks below the same
 * switches, and so a color for golaunch_split or MPI_Comm_split. A host that the
 * network lacks is alone. The node's own agent answers. -1 where there is no such rank
 * or depth. */
int golaunch_switch_cluster(golaunch_job *job, int rank, int depth);

/* A message of a schedule, as one of the two ranks that have part in it is told of it. */
struct golaunch_scheduled {
	int stage;    /* from 0 */
	int peer;     /* the other rank of the world */
	int received; /* 1: from the peer, 0: sent to it */
	size_t bytes;
};

/* The schedule of a collective operation among all ranks of the world, where they are:
 * *list, for free(), has the *count messages that this rank sends and receives, in the
 * order of their stages. A rank goes on to the next stage when it has done all of its
 * messages in this one. The algorithm is one of "golaunch netsim list"; bytes are of
 * each message of a sequence, of each block of an all-to-all, of a rank's part in a
 * gather, scatter, allgather or reduce-scatter, and else of all that there is. The
 * launcher makes the schedule, once; an algorithm that depends on the network takes
 * that of golaunch --topology. A message to this rank itself, a copy, is there twice.
 * docs/client.md has the bounds. It returns the number of stages. */
int golaunch_schedule(golaunch_job *job, const char *algorithm, size_t bytes, struct golaunch_scheduled **list, int *count);

/* All members give up a communicator that was made. It returns when all that this
 * rank has begun over it is complete and every member has called it, and sets it to
 * NULL where that went well; requests are still to be given to golaunch_wait. A receive
 * for which no message comes keeps it from returning. */
int golaunch_comm_free(golaunch_comm **comm);

/* The world's bulletin board, which PMI's clients share. A fence returns when
 * every rank has entered it; a barrier of PMI is one, too. It fails where a rank
 * has left that has not entered it. golaunch_get gives
 * *value, for free(), of *size bytes and a zero, or NULL if there is none. */
int golaunch_put(golaunch_job *job, const char *key, const void *value, size_t size);
int golaunch_fence(golaunch_job *job);
int golaunch_get(golaunch_job *job, const char *key, char **value, size_t *size);

/* The bulletin board as of the last fence that this rank has passed, all of it,
 * mapped: looking a key up asks nobody, and the ranks of a node share its memory.
 * There is none, NULL, where the job's cache policy leaves keys on other nodes.
 * golaunch_board_get's result is not terminated, valid until
 * golaunch_board_close, and NULL where there is no such key. */
typedef struct golaunch_board golaunch_board;
golaunch_board *golaunch_board_open(golaunch_job *job);
const char *golaunch_board_get(const golaunch_board *board, const char *key, size_t *size);
void golaunch_board_close(golaunch_board *board);

#ifdef __cplusplus
}
#endif
#endif
