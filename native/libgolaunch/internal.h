/* What the parts of libgolaunch share. docs/client.md has the protocol. */
#ifndef GOLAUNCH_INTERNAL_H
#define GOLAUNCH_INTERNAL_H

#include <stdint.h>

#include "golaunch.h"

enum {
	VERSION = 3,
	CHUNK = 64 << 10,
	MAX_BODY = 192 << 10,
	MAX_SIZE = MAX_BODY + 96,
	SYNC_EVERY = 16,
	MAX_REQUESTS = 16,
	CHOICE = 8, /* bytes of a color and a key */
	MAX_KEY = 64,
	MAX_VALUE = 1024,
	MAX_DEPTH = 255, /* levels of switches */
	SCHEDULES = 1, /* as fn of a welcome: the agent answers SCHEDULE */
	MAX_ALGORITHM = 64,
	MAX_STAGES = 1 << 18
};

#define MAX_TAG INT64_C(0x7fffffff)
#define MAX_SCHEDULE (INT64_C(1) << 40) /* bytes that a schedule is asked for */
#define MAX_BYTES (INT64_C(1) << 50) /* that all members of an operation have together */

enum kind {
	ENTER = 2,
	DATA,
	PULL,
	UP,
	SEND = 7,
	RECV,
	MATCH,
	SEND_PULL,
	SEND_DATA,
	TAKEN,
	CREATE,
	MADE = 15,
	FREE,
	FAIL = 18,
	HELLO,
	WELCOME,
	PUT,
	GET,
	GOT,
	FENCE,
	BYE,
	MAP,
	MAPPED,
	ASK = 29,
	ANSWER,
	CLUSTER = 37,
	SCHEDULE
};

enum op { BARRIER = 1, BCAST, GATHER, ALLGATHER, SCATTER, ALLTOALL, REDUCE, ALLREDUCE, SPLIT };

struct record {
	int kind, each, op, fn;
	uint64_t comm, seq;
	int64_t src, dst, count, off, size;
	const unsigned char *body;
	size_t length;
};

struct buffer {
	unsigned char *bytes;
	size_t begin, end, room;
};

enum class { OPERATION, SENDING, RECEIVING, OTHER };

struct golaunch_request {
	golaunch_job *job;
	size_t slot;
	golaunch_comm *comm;
	golaunch_request *next; /* of the list that it is in */
	enum class class;
	uint64_t seq;
	int op, fn;
	int64_t root, size, tag, src, got;
	const unsigned char *send;
	unsigned char *recv;
	int64_t left, owed; /* bytes to get; to be asked for */
	int done, hidden;
	char *error;
	char *value; /* of a get */
	uint64_t made_id;
	int made_rank, made_size;
};

struct list {
	golaunch_request *first, **last;
	int count;
};

struct golaunch_comm {
	golaunch_job *job;
	golaunch_comm *next;
	uint64_t id, number; /* of the next operation */
	int rank, size;
	int syncing; /* a barrier that operations wait for is under way */
	int64_t scans;
	struct list live, queue;
};

struct golaunch_job {
	int fd;
	int rank, size, node, nodes;
	int depth, clusters[MAX_DEPTH]; /* of the network; how many at each depth from 1 */
	int welcomed, planner; /* the agent answers SCHEDULE */
	char *error; /* why nothing works any more */
	uint64_t number;
	struct buffer in, out;
	golaunch_comm *comms;
	struct list sends, recvs, send_queue, recv_queue, others;
};

/* wire.c */
void golaunch__put(struct buffer *b, const struct record *r);
int golaunch__parse(const unsigned char *b, size_t n, struct record *r);
void *golaunch__reserve(struct buffer *b, size_t n);
size_t golaunch__varint(unsigned char *b, uint64_t v);
int golaunch__number(const unsigned char *b, size_t n, size_t *at, uint64_t *v);

/* request.c */
int golaunch__fail(const char *format, ...);
int golaunch__no_job(void); /* NULL was given for one */
int golaunch__no_comm(void);
golaunch_request *golaunch__refused(void);                       /* NULL, for the last error */
golaunch_request *golaunch__handle(const golaunch_request *q); /* what the program gets of it */
int golaunch__end(golaunch_request *q, struct golaunch_message *m);
void golaunch__forget(golaunch_job *job);
void golaunch__finish(golaunch_request *q, const char *error);
golaunch_request *golaunch__new(golaunch_job *job, enum class class);
void golaunch__append(struct list *l, golaunch_request *q);
golaunch_request *golaunch__find(struct list *l, uint64_t seq);
void golaunch__remove(struct list *l, golaunch_request *q);

/* golaunch.c */
int golaunch__say(golaunch_job *job);
int golaunch__flush(golaunch_job *job);
int golaunch__progress(golaunch_job *job);
int golaunch__look(golaunch_job *job);
golaunch_comm *golaunch__comm(golaunch_job *job, uint64_t id, int rank, int size);

golaunch_request *golaunch__other(golaunch_job *job, struct record *r);

/* ops.c */
golaunch_request *golaunch__begin(golaunch_comm *c, int op, int fn, int root, const void *send, void *recv, size_t size);
int golaunch__operation(golaunch_job *job, const struct record *r);
void golaunch__go_on(golaunch_comm *c);

/* split.c */
int golaunch__made(golaunch_request *q, const struct record *r);

/* clusters.c */
int golaunch__clusters(golaunch_job *job, const struct record *r);

/* message.c */
int golaunch__message(golaunch_job *job, const struct record *r);
void golaunch__next_messages(golaunch_job *job);
golaunch_request *golaunch__isend(golaunch_comm *c, int dst, int64_t tag, const void *data, size_t size);
golaunch_request *golaunch__irecv(golaunch_comm *c, int src, int64_t tag, void *buf, size_t room);

#endif
