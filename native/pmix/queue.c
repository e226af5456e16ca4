/* The queue to the agent, and the thread that writes. */
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct item {
	struct item *next;
	unsigned char *bytes; /* of a frame; NULL for a call */
	size_t n;
	void (*call)(void *);
	void *with;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct item *first, **last;
	int fd;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .last = &queue.first };

static void append(struct item item)
{
	struct item *copy = take(1, sizeof *copy);

	*copy = item;
	pthread_mutex_lock(&queue.lock);
	*queue.last = copy;
	queue.last = &copy->next;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

static struct item *first(void)
{
	struct item *item;

	pthread_mutex_lock(&queue.lock);
	while (!queue.first)
		pthread_cond_wait(&queue.more, &queue.lock);
	item = queue.first;
	queue.first = item->next;
	if (!queue.first)
		queue.last = &queue.first;
	pthread_mutex_unlock(&queue.lock);
	return item;
}

/* empty writes until the agent has gone, which the reader sees too. */
static void *empty(void *unused)
{
	for (;;) {
		struct item *item = first();
		size_t written = 0;

		if (item->call)
			item->call(item->with);
		while (written < item->n) {
			ssize_t n = write(queue.fd, item->bytes + written, item->n - written);

			if (n < 0 && errno != EINTR)
				return unused;
			if (n > 0)
				written += (size_t)n;
		}
		free(item->bytes);
		free(item);
	}
}

void queue_start(int fd)
{
	pthread_t thread;
	int error;

	queue.fd = fd;
	error = pthread_create(&thread, NULL, empty, NULL);
	if (error)
		die("a thread can't be started: error %d", error);
	pthread_detach(thread);
}

bool queue_send(struct out *o)
{
	if (!out_end(o))
		return false;
	append((struct item){ .bytes = o->bytes, .n = o->n });
	return true;
}

void queue_later(void (*call)(void *), void *with)
{
	append((struct item){ .call = call, .with = with });
}
