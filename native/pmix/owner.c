/*
 * Who connects. libpmix listens on 127.0.0.1, believes what a peer says of itself, and
 * before 6 has all of its clients wait for one that connects and says nothing. So the
 * connections of other users end before it sees them. The others are kept in mind until
 * libpmix has seen their end.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

enum { PATIENCE = 500 }; /* milliseconds for libpmix to see the end of a connection */

/* Connections that libpmix may not have closed. */
static struct {
	pthread_mutex_t lock;
	struct pollfd *list;
	size_t n, room;
} connections = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* asked finds the owner of a connected socket of this machine: true if the kernel says
 * anything. The user is left as it is if there is no such socket any more. */
static bool asked(int netlink, const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 diag;
	} question = {
		.head = { .nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.diag = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1 << TCP_ESTABLISHED },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr head;
		union {
			struct inet_diag_msg diag;
			struct nlmsgerr error;
			char rest[4096];
		};
	} answer;
	ssize_t n;

	question.diag.id = (struct inet_diag_sockid){
		.idiag_sport = peer->sin_port, .idiag_dport = own->sin_port,
		.idiag_src = { peer->sin_addr.s_addr }, .idiag_dst = { own->sin_addr.s_addr },
		.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	if (sendto(netlink, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
		return false;
	n = recv(netlink, &answer, sizeof answer, 0);
	if (n < (ssize_t)NLMSG_HDRLEN)
		return false;
	if (answer.head.nlmsg_type == NLMSG_ERROR)
		return n >= (ssize_t)NLMSG_LENGTH(sizeof answer.error) && answer.error.error == -ENOENT;
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)NLMSG_LENGTH(sizeof answer.diag))
		return false;
	/* One that its owner has closed has no inode, and seems to be root's. */
	if (answer.diag.idiag_inode != 0 && answer.diag.idiag_state == TCP_ESTABLISHED &&
	    answer.diag.id.idiag_sport == peer->sin_port)
		*uid = answer.diag.idiag_uid;
	return true;
}

/* listed is asked, from the table of all sockets (proc_net_tcp(5)). */
static void listed(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid)
{
	FILE *table = fopen("/proc/net/tcp", "re");
	char line[512];

	while (table && fgets(line, sizeof line, table)) {
		unsigned from, from_port, to, to_port, state, user;
		unsigned long inode;

		if (sscanf(line, " %*u: %x:%x %x:%x %x %*x:%*x %*x:%*x %*x %u %*u %lu", &from, &from_port, &to, &to_port,
			   &state, &user, &inode) == 7 &&
		    from == peer->sin_addr.s_addr && from_port == ntohs(peer->sin_port) && to == own->sin_addr.s_addr &&
		    to_port == ntohs(own->sin_port) && state == TCP_ESTABLISHED && inode != 0)
			*uid = user;
	}
	if (table)
		fclose(table);
}

/* ours says whether the process at the other end of a connection is this user's. */
static bool ours(int fd)
{
	struct sockaddr_in peer = { 0 }, own = { 0 };
	socklen_t peer_length = sizeof peer, own_length = sizeof own;
	uid_t uid = (uid_t)-1;
	int netlink;
	bool known;

	if (getpeername(fd, (struct sockaddr *)&peer, &peer_length) != 0 ||
	    getsockname(fd, (struct sockaddr *)&own, &own_length) != 0)
		return false;
	if (peer.sin_family != AF_INET)
		return peer.sin_family == AF_UNIX; /* in a directory that is this user's alone */
	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	known = netlink >= 0 && asked(netlink, &peer, &own, &uid);
	if (netlink >= 0)
		close(netlink);
	if (!known)
		listed(&peer, &own, &uid);
	return uid == geteuid();
}

static void keep(int fd)
{
	pthread_mutex_lock(&connections.lock);
	if (connections.n == connections.room) {
		connections.room = connections.room ? 2 * connections.room : 64;
		connections.list = realloc(connections.list, connections.room * sizeof *connections.list);
		if (!connections.list)
			die("no memory for %zu connections", connections.room);
	}
	for (size_t i = 0; i < connections.n; i++) { /* one that was closed had the same number */
		if (connections.list[i].fd == fd)
			connections.list[i] = connections.list[--connections.n];
	}
	connections.list[connections.n++] = (struct pollfd){ .fd = fd, .events = POLLRDHUP };
	pthread_mutex_unlock(&connections.lock);
}

/* half_closed says whether some other end has gone, and libpmix has not closed its own. */
static bool half_closed(void)
{
	bool some = false;
	size_t kept = 0;

	pthread_mutex_lock(&connections.lock);
	poll(connections.list, connections.n, 0);
	for (size_t i = 0; i < connections.n; i++) {
		struct pollfd *c = &connections.list[i];
		int type;
		socklen_t length = sizeof type;

		/* The number may be a file's by now. */
		if (c->revents & POLLNVAL || getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
			continue;
		some = some || c->revents;
		connections.list[kept++] = *c;
	}
	connections.n = kept;
	pthread_mutex_unlock(&connections.lock);
	return some;
}

void owner_gone(void)
{
	struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < PATIENCE && half_closed(); i++)
		nanosleep(&moment, NULL);
}

/* accept is called by libpmix in place of the C library's: of two functions of a name,
 * the program's counts. To libpmix, a connection that is refused never was. */
__attribute__((visibility("default"))) int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
	int connection = (int)syscall(SYS_accept4, fd, address, length, 0);

	if (connection >= 0 && !ours(connection)) {
		close(connection);
		errno = EAGAIN;
		return -1;
	}
	if (connection >= 0)
		keep(connection);
	return connection;
}
