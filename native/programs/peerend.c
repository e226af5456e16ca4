/*
 * peerend RANK HOW: ranks hold connections to each other, all of them to rank 0, over plain
 * sockets (MASTER_ADDR, MASTER_PORT), and wait. Rank RANK ends by itself: HOW is "exit"
 * (with code 3), "kill" or "segv" (by that signal). Who sees a connection end exits with
 * code 5 at once. Before it ends each rank writes "RANK SECONDS", by its monotonic
 * clock.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1024 };

static int rank, size;
static struct pollfd peers[MOST];

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static int number(const char *name)
{
	const char *value = getenv(name);
	if (!value) {
		fprintf(stderr, "peerend: %s is not set\n", name);
		_exit(2);
	}
	return atoi(value);
}

static void say_when(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	char line[64];
	int n = snprintf(line, sizeof line, "%d %ld.%09ld\n", rank, (long)now.tv_sec, now.tv_nsec);
	if (write(1, line, n) != n)
		_exit(1);
}

/* meet connects all ranks with rank 0, and returns when every rank knows that. */
static void meet(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number("MASTER_PORT"))};
	if (inet_pton(AF_INET, getenv("MASTER_ADDR"), &at.sin_addr) != 1)
		fail("MASTER_ADDR");
	char byte = 0;
	if (rank) {
		int fd;
		for (;; usleep(1000)) {
			fd = socket(AF_INET, SOCK_STREAM, 0);
			if (!connect(fd, (struct sockaddr *)&at, sizeof at))
				break;
			close(fd);
		}
		if (read(fd, &byte, 1) != 1)
			fail("read");
		peers[0] = (struct pollfd){.fd = fd, .events = POLLIN};
		return;
	}
	int door = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	at.sin_addr.s_addr = INADDR_ANY;
	if (bind(door, (struct sockaddr *)&at, sizeof at) || listen(door, size))
		fail("listen");
	for (int i = 0; i < size - 1; i++)
		peers[i] = (struct pollfd){.fd = accept(door, NULL, NULL), .events = POLLIN};
	for (int i = 0; i < size - 1; i++)
		if (write(peers[i].fd, &byte, 1) != 1)
			fail("write");
}

int main(int argc, char **argv)
{
	rank = number("RANK");
	size = number("WORLD_SIZE");
	if (argc != 3 || size > MOST) {
		fprintf(stderr, "usage: peerend RANK exit|kill|segv\n");
		return 2;
	}
	meet();
	if (rank == atoi(argv[1])) {
		usleep(100000);
		say_when();
		if (!strcmp(argv[2], "exit"))
			_exit(3);
		raise(!strcmp(argv[2], "kill") ? SIGKILL : SIGSEGV);
	}
	if (poll(peers, rank ? 1 : size - 1, -1) < 1)
		fail("poll");
	say_when();
	_exit(5);
}
