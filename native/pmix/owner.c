/* The owners of connections. libpmix listens on 127.0.0.1, believes a peer's word on
 * itself, and before 6 has all of its clients wait for one that connects and says
 * nothing. So the connections of other users end before it sees them. The others are
 * kept in mind until libpmix has seen their end. */
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
enum { CROWD = 256 }; /* connections of others that are refused in one call of accept */

/* Connections that libpmix may not have closed. */
static struct {
	pthread_mutex_t lock;
	struct pollfd *list;
	size_t n, room;
} connections = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { LOOPBACK = 1 }; /* the number of the loopback interface */

/* Sockets that are connected to the listener, from the table of all sockets; each is looked
 * up once. */
static struct {
	struct owner {
		in_addr_t addr;
		in_port_t port;
		uid_t uid;
	} *list;
	size_t n, room;
} table;

/* asked finds the owner of a socket of this machine's at an address, connected to another or
 * listening: 1 if there is such a socket, 0 if there is none, -1 if the kernel does not say. The
 * user is left as it is if nobody has the socket any more. */
static int asked(const struct sockaddr_in *at, const struct sockaddr_in *to, uid_t *uid)
{
	static _Thread_local int netlink = -1; /* as long as the thread */
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 diag;
	} question = {
		.head = { .nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.diag = { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct {
		struct nlmsghdr head;
		union {
			struct inet_diag_msg diag;
			struct nlmsgerr error;
			char rest[1024];
		};
	} answer;
	ssize_t n;

	if (netlink < 0)
		netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	/* One that is bound to the interface is found only if that is named. */
	question.diag.id = (struct inet_diag_sockid){
		.idiag_sport = at->sin_port, .idiag_dport = to->sin_port, .idiag_if = LOOPBACK,
		.idiag_src = { at->sin_addr.s_addr }, .idiag_dst = { to->sin_addr.s_addr },
		.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	if (netlink < 0 || sendto(netlink, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
		return -1;
	n = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT); /* it was answered at once */
	if (n < (ssize_t)NLMSG_HDRLEN)
		return -1;
	if (answer.head.nlmsg_type == NLMSG_ERROR)
		return n >= (ssize_t)NLMSG_LENGTH(sizeof answer.error) && answer.error.error == -ENOENT ? 0 : -1;
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)NLMSG_LENGTH(sizeof answer.diag))
		return -1;
	/* One that its owner has closed has no inode, and seems to be root's. */
	if (answer.diag.idiag_inode != 0 && answer.diag.idiag_state != TCP_LISTEN &&
	    answer.diag.id.idiag_sport == at->sin_port && answer.diag.id.idiag_dport == to->sin_port)
		*uid = answer.diag.idiag_uid;
	return 1;
}

/* list_owners reads the table of all sockets (proc_net_tcp(5)), which takes milliseconds where
 * there is much memory. */
static void list_owners(const struct sockaddr_in *own)
{
	FILE *all = fopen("/proc/net/tcp", "re");
	char line[512];

	table.n = 0;
	while (all && fgets(line, sizeof line, all)) {
		unsigned from, from_port, to, to_port, user;
		unsigned long inode;

		if (sscanf(line, " %*u: %x:%x %x:%x %*x %*x:%*x %*x:%*x %*x %u %*u %lu", &from, &from_port, &to, &to_port,
			   &user, &inode) != 6 ||
		    to != own->sin_addr.s_addr || to_port != ntohs(own->sin_port) || inode == 0)
			continue;
		if (table.n == table.room) {
			table.room = table.room ? 2 * table.room : 64;
			table.list = realloc(table.list, table.room * sizeof *table.list);
			if (!table.list)
				die("no memory for %zu connections", table.room);
		}
		table.list[table.n++] = (struct owner){ from, htons((in_port_t)from_port), user };
	}
	if (all)
		fclose(all);
}

/* listed is asked, where the kernel does not say, from the table: read once for all that
 * were connected by then. */
static void listed(int fd, const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *uid)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };

	if (poll(&end, 1, 0) != 0)
		return; /* nobody has it any more */
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < table.n; i++) {
			if (table.list[i].addr == peer->sin_addr.s_addr && table.list[i].port == peer->sin_port) {
				*uid = table.list[i].uid;
				table.list[i] = table.list[--table.n];
				return;
			}
		}
		if (again == 0)
			list_owners(own);
	}
}

/* ours says whether the process at the other end of a connection to own is this user's. */
static bool ours(int fd, const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
	static bool answers; /* the kernel, of TCP: else it says of each socket that it is not there */
	const struct sockaddr_in nobody = { 0 };
	uid_t uid = (uid_t)-1, listener;
	int known;

	if (own->sin_family != AF_INET)
		return own->sin_family == AF_UNIX; /* in a directory that is this user's alone */
	known = asked(peer, own, &uid);
	if (known == 1 || (known == 0 && (answers || asked(own, &nobody, &listener) == 1)))
		answers = true;
	else
		listed(fd, peer, own, &uid);
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
 * the program's counts. To libpmix, a connection that is refused never was; so that a crowd
 * of them costs it nothing, the next ones are looked at here. */
__attribute__((visibility("default"))) int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict length)
{
	struct sockaddr_in own = { 0 };
	socklen_t own_length = sizeof own;
	struct pollfd waits = { .fd = fd, .events = POLLIN };

	if (getsockname(fd, (struct sockaddr *)&own, &own_length) != 0)
		return -1;
	table.n = 0; /* its numbers may be other connections' by now */
	for (int i = 0; i < CROWD && (i == 0 || poll(&waits, 1, 0) > 0); i++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t peer_length = sizeof peer;
		int connection = (int)syscall(SYS_accept4, fd, &peer, &peer_length, 0);

		if (connection < 0)
			return -1;
		if (!ours(connection, (struct sockaddr_in *)&peer, &own)) {
			close(connection);
			continue;
		}
		keep(connection);
		if (length) {
			memcpy((void *)address.__sockaddr__, &peer, *length < peer_length ? *length : peer_length);
			*length = peer_length;
		}
		return connection;
	}
	errno = EAGAIN;
	return -1;
}
