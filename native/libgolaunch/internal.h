/* The common declarations of libgolaunch's parts. docs/client.md has the protocol. */
#ifndef GOLAUNCH_INTERNAL_H
#define GOLAUNCH_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "golaunch.h"

enum {
	VERSION = 3,
	CHUNK = 64 << 10,
	MAX_BODY = 192 << 10,
	MAX_SIZE = MAX_BODY + 96,
	SYNC_EVERY = 16,
	MAX_REQUESTS = 16,     /* of a sort under way, as far as nothing else is said */
	MAX_WAITING = 1 << 15, /* receives, and sends, at an agent of this version */
	KEEPS = 1,             /* as off of a hello: the rank takes KEPT */
	CHOICE = 8, /* bytes of a color and a key */
	MAX_KEY = 64,
	MAX_VALUE = 1024,
	MAX_DEPTH = 255, /* levels of switches */
	SCHEDULES = 1, /* as fn of a welcome: the agent answers SCHEDULE */
	PROBES = 1,    /* as seq of a welcome: the agent takes probes, and places */
	MAX_ALGORITHM = 64,
	MAX_STAGES = 1 << 18
};

#define MAX_TAG INT64_C(0x7fffffff)
#define MAX_SCHEDULE (INT64_C(1) << 40) /* bytes that a schedule is asked for */
#define MAX_BYTES (INT64_C(1) << 50) /* that all members of an operation have together */
#define ANY_SIZE (INT64_C(1) << 60) /* of a message */

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
	SCHEDULE,
	KEPT = 40
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

enum sort { TAKE, PROBE, LOOK, LEFT, REFUSE }; /* action of a RECV */

enum fail { FAIL_OPERATION, FAIL_SEND, FAIL_RECV };

/* Causes of a FAIL are golaunch_cause. */

/* Calls of all members that are built of messages, each sort with tags of its own. */
enum library_call { VARYING, SHRINKING, LIBRARY_CALLS };
#define BEYOND_SCANS (INT64_C(1) << 58) /* the first of their tags; scans have those below */

struct golaunch_request {
	golaunch_job *job;
	size_t slot;
	golaunch_comm *comm;
	struct list *in; /* the list that it is in, and its place there */
	golaunch_request *next, **link;
	enum class class;
	uint64_t seq;
	int op, fn;
	int64_t root, size, tag, src, got;
	int64_t wanted; /* the tag that a RECV asks for, as root is the member */
	const unsigned char *send;
	unsigned char *recv;
	int64_t left, owed; /* bytes to get; to be asked for */
	int done, hidden;
	int kept; /* a message that waits at its receiver's agent */
	char *error;
	int cause, member; /* of the error, as FAIL has them */
	char *value;       /* an answer, or a message of any size; freed with the request */
	int64_t room;      /* bytes of value, for a message */
	void **data;       /* gets value when the program has waited */
	enum sort sort;    /* of a RECV */
	int found;         /* by a probe */
	uint64_t made_id;
	int made_rank, made_size;
	golaunch_comm **made; /* gets the communicator of a split */
	unsigned char choice[CHOICE];
	void (*then)(golaunch_request *q); /* is called when it is complete */
	void *temp;                        /* is freed with it */
	void *part_of;                     /* for then */
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
	int whole;   /* calls of several operations, and look-ups, that are under way */
	enum freeing { KEPT_OPEN, WAITING, CLOSED } freeing; /* by a golaunch_comm_free: nothing more is begun at last */
	int64_t scans, calls[LIBRARY_CALLS];
	struct list live, queue;
};

struct golaunch_job {
	int fd;
	pid_t pid;   /* that opened it */
	int waiting; /* a thread is in poll */
	golaunch_waits *waits; /* instead of poll, with data */
	void *data;
	int inside; /* threads that are in it */
	unsigned long heard;
	int rank, size, node, nodes;
	int depth, clusters[MAX_DEPTH]; /* of the network; how many at each depth from 1 */
	int welcomed, planner, prober; /* the agent answers SCHEDULE, and probes */
	char *error; /* why nothing works any more */
	int cause, member; /* of the error of the request that ended last */
	uint64_t number;
	struct buffer in, out;
	golaunch_comm *comms;
	struct list sends, recvs, looks, send_queue, recv_queue, others;
	int most, fresh; /* sends, and receives, at a time; of the sends those that are not kept */
};

/* wire.c */
void golaunch__put(struct buffer *b, const struct record *r);
int golaunch__parse(const unsigned char *b, size_t n, struct record *r);
void *golaunch__reserve(struct buffer *b, size_t n);
size_t golaunch__varint(unsigned char *b, uint64_t v);
int golaunch__number(const unsigned char *b, size_t n, size_t *at, uint64_t *v);

/* request.c */
int golaunch__fail(const char *format, ...);
int golaunch__no_job(const char *call); /* NULL was given for one */
int golaunch__no_comm(const char *call);
int golaunch__gone(const char *call, const golaunch_comm *c); /* nothing can be begun over it */
int golaunch__mine(const char *call, const golaunch_job *job); /* 0 if this thread of this process may call */
golaunch_request *golaunch__refused(void);                       /* NULL, for the last error */
golaunch_request *golaunch__handle(const golaunch_request *q); /* the program's part of it */
int golaunch__end(golaunch_request *q, struct golaunch_message *m);
int golaunch__wait(golaunch_request *handle); /* for what a call has just begun */
void golaunch__drop(golaunch_request *q);    /* nobody waits for it any more */
void golaunch__forget(golaunch_job *job);
void golaunch__finish(golaunch_request *q, const char *error);
golaunch_request *golaunch__new(const char *call, golaunch_job *job, enum class class);
void golaunch__append(struct list *l, golaunch_request *q);
golaunch_request *golaunch__find(struct list *l, uint64_t seq);
golaunch_request *golaunch__under_way(struct list *l, uint64_t seq); /* of messages, at once */
void golaunch__remove(struct list *l, golaunch_request *q);

/* golaunch.c */
int golaunch__say(golaunch_job *job);
int golaunch__flush(golaunch_job *job);
int golaunch__progress(golaunch_job *job);
int golaunch__look(golaunch_job *job);
golaunch_comm *golaunch__comm(golaunch_job *job, uint64_t id, int rank, int size);
golaunch_request *golaunch__other(const char *call, golaunch_job *job, struct record *r);
void golaunch__runs(struct buffer *b, const int *ranks, int count);

/* ops.c */
int golaunch__eager(int op, int64_t members, int64_t size);
void golaunch__copy(void *to, const void *from, int64_t size);
int golaunch__usable(const char *call, const golaunch_comm *c, int op, int root, const void *send, const void *recv, size_t size);
golaunch_request *golaunch__begin(const char *call, golaunch_comm *c, int op, int fn, int root, const void *send, void *recv, size_t size);
golaunch_request *golaunch__operate(golaunch_request *q);
int golaunch__operation(golaunch_job *job, const struct record *r);
void golaunch__go_on(golaunch_comm *c);

/* split.c */
int golaunch__made(golaunch_request *q, const struct record *r);

/* clusters.c */
int golaunch__clusters(golaunch_job *job, const struct record *r);

/* message.c */
int golaunch__message(golaunch_job *job, const struct record *r);
void golaunch__next_messages(golaunch_job *job);
void golaunch__unlist(struct list *l, golaunch_request *q);
golaunch_request *golaunch__send(golaunch_comm *c, int dst, int64_t tag, const void *data, size_t size);
golaunch_request *golaunch__recv(golaunch_comm *c, int src, int64_t tag, void *buf, size_t room);
golaunch_request *golaunch__recv_alloc(golaunch_comm *c, int src, int64_t tag, void **data);
/* golaunch_sub for a call over a communicator, which has a tag: that and nothing else brings
 * the members together. */
golaunch_comm *golaunch__sub(golaunch_job *job, const int *ranks, int count, int64_t tag, uint64_t comm);
int golaunch__fail_as(int cause, int member, const char *text);
/* A call that failed since a member left, though not for all perhaps, goes on
 * nowhere. A member that may wait for its message of that size gets the reason,
 * which is shorter. Messages of others for it, or for later ones, which fail, too,
 * are refused: they count as taken. */
void golaunch__excuse(golaunch_comm *c, int dst, int64_t tag, int member, const char *why, size_t size);
/* golaunch__excused reads what such a message says: why, and which member has left, or -1. */
int golaunch__excused(const char *message, size_t size, char *why, size_t room);
void golaunch__refuse(golaunch_comm *c, int64_t tag, int64_t end);
/* golaunch__again has a RECV of any member go on that had part of a message of one which has
 * left. It is behind those that were made since. */
void golaunch__again(golaunch_request *q);
golaunch_request *golaunch__post(golaunch_request *q);
int64_t golaunch__tag(golaunch_comm *c, enum library_call call);

#endif
