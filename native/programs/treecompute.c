/*
 * treecompute FIFO: rank 0 begins to send 8 MB to rank 1 and then calls nothing until
 * rank 1 has them, which it says through the FIFO; a thread of rank 0's has them move.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <golaunch.h>

enum { BYTES = 8 << 20, OFTEN = 1 /* ms: operations that another thread begins are sent within it */ };

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static int over;

static void die(const char *what)
{
	fprintf(stderr, "treecompute: %s: %s\n", what, golaunch_error());
	exit(1);
}

static void *advance(void *job)
{
	struct pollfd fd;

	for (;;) {
		pthread_mutex_lock(&mine);
		if (over) {
			pthread_mutex_unlock(&mine);
			return NULL;
		}
		if (golaunch_progress(job))
			die("progress");
		fd.fd = golaunch_fd(job, &fd.events);
		pthread_mutex_unlock(&mine);
		poll(&fd, 1, OFTEN);
	}
}

static void sends(golaunch_job *job, char *data, const char *fifo)
{
	golaunch_request *q;
	pthread_t helper;
	FILE *word;

	if (pthread_create(&helper, NULL, advance, job))
		die("thread");
	memset(data, 7, BYTES);
	pthread_mutex_lock(&mine);
	q = golaunch_isend(golaunch_world(job), 1, 0, data, BYTES);
	pthread_mutex_unlock(&mine);
	word = fopen(fifo, "r"); /* "computes" until rank 1 has all of it */
	if (!word || fgetc(word) != 'y')
		die("the word of rank 1");
	fclose(word);
	pthread_mutex_lock(&mine);
	if (golaunch_wait(&q))
		die("send");
	over = 1;
	pthread_mutex_unlock(&mine);
	pthread_join(helper, NULL);
	printf("it moved while rank 0 computed\n");
}

static void receives(golaunch_job *job, char *data, const char *fifo)
{
	FILE *word;

	if (golaunch_recv(golaunch_world(job), 0, 0, data, BYTES, NULL))
		die("recv");
	for (int i = 0; i < BYTES; i++)
		if (data[i] != 7)
			die("wrong data");
	word = fopen(fifo, "w");
	if (!word || fputc('y', word) == EOF || fclose(word))
		die("the word to rank 0");
}

int main(int argc, char **argv)
{
	golaunch_job *job = golaunch_open();
	char *data = malloc(BYTES);

	if (!job || !data || argc != 2)
		die("open");
	if (golaunch_rank(golaunch_world(job)) == 0)
		sends(job, data, argv[1]);
	else
		receives(job, data, argv[1]);
	golaunch_close(job);
	free(data);
	return 0;
}
