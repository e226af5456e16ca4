/* The connection, and what is no operation and no message. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

static void end_list(struct list *l, const char *error)
{
	while (l->first) {
		golaunch_request *q = l->first;

		golaunch__remove(l, q);
		golaunch__finish(q, error);
	}
}

/* broken ends everything, because of the last error. */
static int broken(golaunch_job *job)
{
	if (!job->error) {
		job->error = strdup(golaunch_error());
		for (golaunch_comm *c = job->comms; c; c = c->next) {
			end_list(&c->live, job->error);
			end_list(&c->queue, job->error);
		}
		end_list(&job->sends, job->error);
		end_list(&job->recvs, job->error);
		end_list(&job->looks, job->error);
		end_list(&job->send_queue, job->error);
		end_list(&job->recv_queue, job->error);
		end_list(&job->others, job->error);
	}
	return -1;
}

golaunch_comm *golaunch__comm(golaunch_job *job, uint64_t id, int rank, int size)
{
	golaunch_comm *c;

	for (c = job->comms; c; c = c->next)
		if (c->id == id)
			return c;
	c = calloc(1, sizeof *c);
	if (!c) {
		golaunch__fail("out of memory");
		return NULL;
	}
	c->job = job;
	c->id = id;
	c->rank = rank;
	c->size = size;
	c->next = job->comms;
	job->comms = c;
	return c;
}

/* failed takes a record of kind FAIL. */
static int failed(golaunch_job *job, const struct record *r)
{
	golaunch_request *q = NULL;
	struct list *l = &job->others;
	golaunch_comm *c = NULL;
	char text[512];

	snprintf(text, sizeof text, "%.*s", (int)r->length, (const char *)r->body);
	if (!job->welcomed)
		return golaunch__fail("golaunch_open: %s", text);
	if (r->fn == FAIL_OPERATION) {
		for (c = job->comms; c && c->id != r->comm; c = c->next)
			;
		if (!c)
			return 0;
		l = &c->live;
	} else if (r->fn == FAIL_SEND) {
		l = &job->sends;
	} else if (r->fn == FAIL_RECV) {
		l = golaunch__under_way(&job->recvs, r->seq) ? &job->recvs : &job->looks;
	}
	q = r->fn == FAIL_SEND || r->fn == FAIL_RECV ? golaunch__under_way(l, r->seq) : golaunch__find(l, r->seq);
	if (!q)
		return 0;
	golaunch__unlist(l, q);
	if (r->fn == FAIL_RECV && r->count == GOLAUNCH_LEFT && q->sort == TAKE && q->root == GOLAUNCH_ANY && q->src != GOLAUNCH_ANY) {
		golaunch__again(q);
		return 0;
	}
	if (c && q->seq % SYNC_EVERY == SYNC_EVERY - 1)
		c->syncing = 0;
	q->cause = (int)r->count;
	q->member = (int)r->src;
	golaunch__finish(q, text);
	if (c)
		golaunch__go_on(c);
	golaunch__next_messages(job);
	return 0;
}

static int take(golaunch_job *job, const struct record *r)
{
	golaunch_request *q;

	switch (r->kind) {
	case DATA:
	case PULL:
		return golaunch__operation(job, r);
	case MATCH:
	case SEND_PULL:
	case SEND_DATA:
	case TAKEN:
	case KEPT:
		return golaunch__message(job, r);
	case FAIL:
		return failed(job, r);
	case WELCOME:
		if (golaunch__clusters(job, r))
			return -1;
		job->rank = (int)r->src;
		job->size = (int)r->size;
		job->node = (int)r->dst;
		job->nodes = (int)r->count;
		job->planner = r->fn == SCHEDULES;
		job->prober = r->seq == PROBES;
		job->most = r->off <= 0 ? MAX_REQUESTS : r->off < MAX_WAITING ? (int)r->off : MAX_WAITING;
		job->welcomed = 1;
		return 0;
	case MADE:
	case MAPPED:
	case ANSWER:
	case GOT:
	case FENCE:
	case CLUSTER:
	case SCHEDULE:
		break;
	default:
		return golaunch__fail("the agent sent a record of kind %d", r->kind);
	}
	q = golaunch__find(&job->others, r->seq);
	if (!q)
		return golaunch__fail("the agent answered what nobody asked");
	golaunch__remove(&job->others, q);
	if (r->kind == MADE) {
		q->made_id = r->comm;
		q->made_rank = (int)r->dst;
		q->made_size = (int)r->size;
	} else if (r->kind == ANSWER) {
		q->got = r->off;
		q->src = r->size;
	} else if (r->kind == MAPPED || r->kind == CLUSTER || r->kind == SCHEDULE || (r->kind == GOT && r->count == 1)) {
		q->value = malloc(r->length + 1);
		if (!q->value)
			abort();
		memcpy(q->value, r->body, r->length);
		q->value[r->length] = 0;
		q->got = (int64_t)r->length;
		q->size = r->size;
		q->tag = r->off;
	}
	golaunch__finish(q, NULL);
	return 0;
}

static int take_all(golaunch_job *job)
{
	struct buffer *in = &job->in;

	while (in->end - in->begin >= 4) {
		const unsigned char *p = in->bytes + in->begin;
		size_t n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		struct record r;

		if (n > MAX_SIZE)
			return golaunch__fail("the agent sent a record of %zu bytes", n);
		if (in->end - in->begin < n + 4)
			break;
		in->begin += n + 4;
		if (golaunch__parse(p + 4, n, &r) || take(job, &r))
			return -1;
	}
	return 0;
}

/* flush sends what the socket takes. */
int golaunch__flush(golaunch_job *job)
{
	struct buffer *out = &job->out;
	ssize_t n;

	if (job->error)
		return golaunch__fail("%s", job->error);
	while (out->begin < out->end) {
		n = send(job->fd, out->bytes + out->begin, out->end - out->begin, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			golaunch__fail("send to the agent: %s", strerror(errno));
			return broken(job);
		}
		out->begin += (size_t)n;
	}
	return 0;
}

/* take_more waits, without end if limit is -1 and not at all if it is 0, until something
 * came, or there is room for what is left to send, and takes what came. */
static int take_more(golaunch_job *job, int limit)
{
	struct pollfd p = {.fd = job->fd};
	struct buffer *in = &job->in;
	ssize_t n;
	int rc;

	golaunch_fd(job, &p.events);
	if (limit && job->waits) {
		job->inside++;
		rc = job->waits(job->fd, p.events, job->data);
		job->inside--;
		if (rc) {
			golaunch__fail("the job was closed");
			return broken(job);
		}
		limit = 0;
	}
	__atomic_store_n(&job->waiting, 1, __ATOMIC_RELAXED);
	rc = poll(&p, 1, limit);
	__atomic_store_n(&job->waiting, 0, __ATOMIC_RELAXED);
	if (rc < 0 && errno != EINTR) {
		golaunch__fail("poll: %s", strerror(errno));
		return broken(job);
	}
	if (!(p.revents & (POLLIN | POLLHUP | POLLERR)))
		return 0;
	n = recv(job->fd, golaunch__reserve(in, 256 << 10), 256 << 10, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		golaunch__fail(n ? "receive from the agent: %s" : "the agent has closed the connection%.0s", strerror(errno));
		return broken(job);
	}
	in->end += (size_t)n;
	job->heard++;
	return take_all(job) ? broken(job) : 0;
}

/* say sends everything. It waits only while something is left: nothing more may come. */
int golaunch__say(golaunch_job *job)
{
	while (job->out.begin < job->out.end)
		if (golaunch__flush(job) || (job->out.begin < job->out.end && take_more(job, -1)))
			return -1;
	return 0;
}

/* progress sends what is possible, waits until more is, or something came, and
 * takes that. */
int golaunch__progress(golaunch_job *job)
{
	return golaunch__flush(job) ? -1 : take_more(job, -1);
}

/* look does what is possible without waiting. */
int golaunch__look(golaunch_job *job)
{
	return golaunch__flush(job) || take_more(job, 0) ? -1 : golaunch__flush(job);
}

int golaunch_progress(golaunch_job *job)
{
	if (!job)
		return golaunch__no_job("golaunch_progress");
	return golaunch__mine("golaunch_progress", job) || golaunch__look(job) ? -1 : 0;
}

int golaunch_wait_by(golaunch_job *job, golaunch_waits *waits, void *data)
{
	if (!job)
		return golaunch__no_job("golaunch_wait_by");
	if (golaunch__mine("golaunch_wait_by", job))
		return -1;
	job->waits = waits;
	job->data = data;
	return 0;
}

unsigned long golaunch_heard(const golaunch_job *job) { return job ? job->heard : 0; }

int golaunch_fd(const golaunch_job *job, short *events)
{
	if (!job)
		return golaunch__no_job("golaunch_fd");
	if (events)
		*events = job->out.begin < job->out.end ? POLLIN | POLLOUT : POLLIN;
	return job->fd;
}

/* call hands one end of a new socket to the agent, and with it the hello. */
static int call(int shared, struct buffer *hello)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = hello->bytes + hello->begin, .iov_len = hello->end - hello->begin};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return golaunch__fail("socketpair: %s", strerror(errno));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair[1], sizeof(int));
	while (sendmsg(shared, &m, MSG_NOSIGNAL) < 0) {
		if (errno == EAGAIN || errno == ETOOMANYREFS) { /* others call, too */
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		} else if (errno != EINTR) {
			golaunch__fail("call the agent: %s", strerror(errno));
			close(pair[0]);
			close(pair[1]);
			return -1;
		}
	}
	close(pair[1]);
	hello->begin = hello->end;
	return pair[0];
}

/* number reads an environment variable which golaunch sets. */
static int number(const char *name, const char *what, int *value)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (!text)
		return golaunch__fail("$%s is not set: not a rank of a golaunch job", name);
	n = strtol(text, &end, 10);
	if (end == text || *end || n < 0 || n > INT32_MAX)
		return golaunch__fail("$%s is \"%s\", no %s: not a rank of a golaunch job", name, text, what);
	*value = (int)n;
	return 0;
}

golaunch_job *golaunch_open(void)
{
	static int opened;
	int shared, rank, world = 0; /* the first, whose ranks are not told */
	golaunch_job *job;

	if (opened) {
		golaunch__fail("golaunch_open: a process opens the job once, and this one, or the one that it was forked from, has done so");
		return NULL;
	}
	if (number("GOLAUNCH_FD", "descriptor", &shared) || number("PMI_RANK", "rank", &rank) ||
	    (getenv("GOLAUNCH_WORLD") && number("GOLAUNCH_WORLD", "world", &world)))
		return NULL;
	job = calloc(1, sizeof *job);
	if (!job) {
		golaunch__fail("golaunch_open: out of memory");
		return NULL;
	}
	job->pid = getpid();
	golaunch__put(&job->out, &(struct record){.kind = HELLO, .seq = VERSION, .src = rank, .comm = (uint64_t)world, .off = KEEPS});
	job->fd = call(shared, &job->out);
	while (job->fd >= 0 && !job->welcomed && !golaunch__progress(job))
		;
	opened = job->welcomed;
	if (job->welcomed && golaunch__comm(job, 0, job->rank, job->size))
		return job;
	golaunch_close(job);
	return NULL;
}

void golaunch_close(golaunch_job *job)
{
	char kept[512];

	if (!job) {
		golaunch__fail("golaunch_close: NULL is no job");
		return;
	}
	if (__atomic_load_n(&job->waiting, __ATOMIC_RELAXED)) {
		golaunch__mine("golaunch_close", job); /* it would take the job's memory away */
		return;
	}
	if (job->inside && job->pid == getpid()) {
		golaunch__fail("golaunch_close: %d calls of this job wait", job->inside);
		return;
	}
	job->waits = NULL;
	snprintf(kept, sizeof kept, "%s", golaunch_error());
	if (job->welcomed && !job->error && job->pid == getpid()) {
		golaunch__put(&job->out, &(struct record){.kind = BYE});
		while (job->out.begin < job->out.end && !golaunch__progress(job))
			;
	}
	golaunch__fail("the job was closed");
	broken(job);
	golaunch__forget(job);
	while (job->comms) {
		golaunch_comm *c = job->comms;

		job->comms = c->next;
		free(c);
	}
	if (job->fd >= 0)
		close(job->fd);
	free(job->in.bytes);
	free(job->out.bytes);
	free(job->error);
	free(job);
	golaunch__fail("%s", kept);
}

golaunch_comm *golaunch_world(golaunch_job *job)
{
	if (job)
		return golaunch__comm(job, 0, job->rank, job->size);
	golaunch__no_job("golaunch_world");
	return NULL;
}

int golaunch_node(const golaunch_job *job) { return job ? job->node : golaunch__no_job("golaunch_node"); }
int golaunch_nodes(const golaunch_job *job) { return job ? job->nodes : golaunch__no_job("golaunch_nodes"); }
int golaunch_rank(const golaunch_comm *c) { return c ? c->rank : golaunch__no_comm("golaunch_rank"); }
int golaunch_size(const golaunch_comm *c) { return c ? c->size : golaunch__no_comm("golaunch_size"); }

/* other asks the agent for something. */
golaunch_request *golaunch__other(const char *call, golaunch_job *job, struct record *r)
{
	golaunch_request *q = golaunch__new(call, job, OTHER);

	if (!q)
		return NULL;
	q->seq = r->seq = ++job->number;
	golaunch__append(&job->others, q);
	golaunch__put(&job->out, r);
	return q;
}

/* runs appends a list of ranks, as CREATE has it. */
void golaunch__runs(struct buffer *b, const int *ranks, int count)
{
	for (int i = 0, n; i < count; i += n) {
		for (n = 1; i + n < count && ranks[i + n] == ranks[i] + n; n++)
			;
		golaunch__reserve(b, 20);
		b->end += golaunch__varint(b->bytes + b->end, (uint64_t)ranks[i]);
		b->end += golaunch__varint(b->bytes + b->end, (uint64_t)n);
	}
}

golaunch_comm *golaunch_sub(golaunch_job *job, const int *ranks, int count)
{
	return golaunch__sub(job, ranks, count, 0, 0);
}

golaunch_comm *golaunch__sub(golaunch_job *job, const int *ranks, int count, int64_t tag, uint64_t comm)
{
	struct buffer b = {0};
	golaunch_request *q;
	golaunch_comm made = {0};

	if (!job) {
		golaunch__no_job("sub");
		return NULL;
	}
	if (!ranks || count < 1) {
		golaunch__fail("sub: a communicator of %d ranks%s", count, ranks ? "" : ", of which the list is NULL");
		return NULL;
	}
	for (int i = 0; i < count; i++)
		if (ranks[i] < 0 || ranks[i] >= job->size) {
			golaunch__fail("sub: a communicator with rank %d of a world of %d", ranks[i], job->size);
			return NULL;
		}
	golaunch__runs(&b, ranks, count);
	if (b.end > MAX_BODY) {
		free(b.bytes);
		golaunch__fail("sub: a communicator of %d ranks in too many runs", count);
		return NULL;
	}
	q = golaunch__other("sub", job, &(struct record){.kind = CREATE, .off = tag, .size = (int64_t)comm, .body = b.bytes, .length = b.end});
	free(b.bytes);
	if (!q)
		return NULL;
	while (!q->done)
		golaunch__progress(job);
	made.id = q->made_id;
	made.rank = q->made_rank;
	made.size = q->made_size;
	return golaunch__end(q, NULL) ? NULL : golaunch__comm(job, made.id, made.rank, made.size);
}

/* over tells whether a request of a list is one over comm. */
static int over(const struct list *l, const golaunch_comm *comm)
{
	for (const golaunch_request *q = l->first; q; q = q->next)
		if (q->comm == comm)
			return 1;
	return 0;
}

/* open_again leaves a communicator that could not be freed, which can be shrunk. */
static int open_again(golaunch_comm *comm)
{
	comm->freeing = KEPT_OPEN;
	return -1;
}

int golaunch_comm_free(golaunch_comm **made)
{
	golaunch_comm *comm = made ? *made : NULL;
	golaunch_request *barrier;
	golaunch_job *job;

	if (!comm)
		return golaunch__no_comm("free");
	job = comm->job;
	if (golaunch__mine("free", job))
		return -1;
	if (comm->id == 0)
		return golaunch__fail("free: the world cannot be freed");
	if (comm->freeing)
		return golaunch__fail("free: the communicator was freed");
	comm->freeing = WAITING;
	while (comm->whole || comm->live.first || comm->queue.first || over(&job->sends, comm) || over(&job->send_queue, comm) || over(&job->recvs, comm) ||
	       over(&job->recv_queue, comm) || over(&job->looks, comm))
		if (golaunch__progress(job))
			return open_again(comm);
	barrier = golaunch_ibarrier(comm);
	comm->freeing = CLOSED;
	if (golaunch__wait(barrier))
		return open_again(comm);
	if (comm->rank == 0)
		golaunch__put(&job->out, &(struct record){.kind = FREE, .comm = comm->id});
	for (golaunch_comm **p = &job->comms; *p; p = &(*p)->next)
		if (*p == comm) {
			*p = comm->next;
			break;
		}
	free(comm);
	*made = NULL;
	return golaunch__say(job);
}
