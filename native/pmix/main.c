/*
 * golaunch-pmix: a PMIx server for the ranks of a node, beside golaunch's agent. It
 * links no libpmix but opens the one that the ranks use, and leaves to the agent what
 * crosses nodes. docs/pmix.md has the messages.
 *
 *   golaunch-pmix [--fd N] [--library FILE]
 *
 *   --fd N           descriptor of a stream socket to the agent (3)
 *   --library FILE   libpmix to open, or a name that the dynamic linker finds
 *                    (libpmix.so.2)
 *
 * Exits 0 when the agent says so or has gone, 1 with a line on stderr otherwise.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "infos.h"
#include "keys.h"
#include "queue.h"
#include "server.h"

enum { PATIENCE = 2 }; /* seconds for the library to finalize */

struct server server;

static int drop(const char *path, const struct stat *s, int type, struct FTW *place)
{
	(void)s, (void)type, (void)place;
	remove(path);
	return 0;
}

/* leave ends the helper at once, without its files. */
static void leave(int code) __attribute__((noreturn));
static void leave(int code)
{
	if (server.dir)
		nftw(server.dir, drop, 16, FTW_DEPTH | FTW_PHYS);
	_exit(code);
}

void die(const char *format, ...)
{
	va_list args;

	fputs("golaunch-pmix: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	leave(1);
}

static void *finalize(void *unused)
{
	px.server_finalize();
	leave(0);
	return unused;
}

/* end finalizes the library, which may never return from that. */
static void end(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, finalize, NULL) == 0)
		sleep(PATIENCE);
	leave(0);
}

/* watch leaves some time after the agent has gone, even if the library keeps the reader. */
static void *watch(void *with)
{
	struct pollfd socket = { .fd = *(int *)with, .events = POLLRDHUP };

	while (poll(&socket, 1, -1) < 0)
		;
	sleep(PATIENCE);
	leave(0);
	return with;
}

/* fill reads n bytes; false: the agent has gone. */
static bool fill(int fd, unsigned char *b, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, b, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		b += got;
		n -= (size_t)got;
	}
	return true;
}

/* receive reads a frame whose head is right; false: the agent has gone. */
static bool receive(int fd, struct frame *f)
{
	unsigned char head[FRAME_HEAD];
	const char *wrong;

	if (!fill(fd, head, sizeof head))
		return false;
	wrong = frame_head(f, head);
	if (wrong)
		die("the agent sent a frame that can't be: %s", wrong);
	f->body = malloc(f->length + 1);
	if (!f->body)
		die("no memory for a frame of %u bytes", f->length);
	return fill(fd, f->body, f->length);
}

/* check ends the helper if a body is none of its kind. */
static void check(const struct frame *f)
{
	const char *wrong = frame_check(f);

	if (wrong)
		die("the agent sent a frame of kind %d that can't be: %s", f->kind, wrong);
}

/* next reads a frame whose body is right; false: the agent has gone. */
static bool next(int fd, struct frame *f)
{
	if (!receive(fd, f))
		return false;
	check(f);
	return true;
}

/* first reads Init; false: the agent has gone. Of an agent of another version, nothing
 * but the version needs to be as here. */
static bool first(int fd, struct frame *f, const char *program)
{
	struct reader r;

	if (!receive(fd, f))
		return false;
	if (f->kind != KIND_INIT)
		die("the agent's first frame is of kind %d", f->kind);
	r.at = f->body;
	if (f->length >= 4) {
		uint32_t version = read_u32(&r);

		if (version != VERSION)
			die("%s is of another version (%d of the messages) than golaunch (%u): build or install both together",
			    program, VERSION, version);
	}
	check(f);
	return true;
}

/* begin makes the helper a server, as Init wants it. */
static void begin(const struct frame *f)
{
	struct reader r = { f->body };
	struct arena a = { 0 };
	struct infos infos = { .arena = &a };
	char *dir;
	int status;
	struct out o;

	read_u32(&r); /* the version */
	read_proc(&r, &server.self);
	server.host = strdup(read_text(&r));
	if (asprintf(&dir, "%s/pmix.%ld", read_text(&r), (long)getpid()) < 0 || !server.host)
		die("no memory");
	if (mkdir(dir, 0700) != 0)
		die("%s can't be made: %s", dir, strerror(errno));
	server.dir = dir;

	add_text(&infos, KEY_SERVER_NSPACE, server.self.nspace);
	add_rank(&infos, KEY_SERVER_RANK, server.self.rank);
	add_text(&infos, KEY_HOSTNAME, server.host);
	add_text(&infos, KEY_SERVER_TMPDIR, dir);
	add_text(&infos, KEY_SYSTEM_TMPDIR, dir);
	add_u32(&infos, KEY_USERID, (uint32_t)geteuid());
	add_u32(&infos, KEY_GRPID, (uint32_t)getegid());
	add_bool(&infos, KEY_SERVER_TOOL_SUPPORT, false);
	add_bool(&infos, KEY_SERVER_SYSTEM_SUPPORT, false);
	add_bool(&infos, KEY_SERVER_SESSION_SUPPORT, false);
	add_bool(&infos, KEY_SERVER_REMOTE_CONNECTIONS, false);
	add_bool(&infos, KEY_IOF_LOCAL_OUTPUT, false);
	status = px.server_init(upcalls_module(), infos.list, infos.n);
	if (status != PX_SUCCESS)
		die("PMIx_server_init of %s, PMIx %s, failed: %s", px.file, px.version, px.Error_string(status));
	arena_free(&a);

	out_begin(&o, KIND_READY, f->request);
	out_text(&o, px.file);
	out_text(&o, px.version);
	queue_send(&o);
}

static int number(const char *text)
{
	char *rest;
	long n = strtol(text, &rest, 10);

	if (rest == text || *rest || n < 0 || n > 1 << 20)
		die("--fd %s is no descriptor", text);
	return (int)n;
}

int main(int argc, char **argv)
{
	const char *library = "libpmix.so.2", *wrong;
	static int fd = 3;
	pthread_t watcher;
	struct frame f;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--fd") == 0 && i + 1 < argc)
			fd = number(argv[++i]);
		else if (strcmp(argv[i], "--library") == 0 && i + 1 < argc)
			library = argv[++i];
		else
			die("usage: golaunch-pmix [--fd N] [--library FILE]");
	}
	if (fcntl(fd, F_GETFL) < 0)
		die("descriptor %d: %s: golaunch's agent starts this program", fd, strerror(errno));
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);

	wrong = px_open(library);
	if (wrong)
		die("%s", wrong);
	if (!first(fd, &f, argv[0]))
		leave(0);
	queue_start(fd);
	if (pthread_create(&watcher, NULL, watch, &fd) != 0)
		die("a thread can't be started");
	begin(&f);
	free(f.body);
	while (next(fd, &f) && f.kind != KIND_END) {
		int kind = f.kind;

		wrong = answer(&f);
		if (wrong)
			die("the agent sent a frame of kind %d that can't be: %s", kind, wrong);
	}
	end();
}
