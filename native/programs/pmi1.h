/*
 * The client's side of PMI-1 over PMI_FD or PMI_PORT, one request
 * and one reply at a time, for the test programs that use it without a library.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE = 8192 };

static int rank = -1, size = -1, fd = -1;
static char kvs[512];

static void die(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s: rank %d of %d: ", program_invocation_short_name, rank, size);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static int number(const char *what, const char *s)
{
	char *end;
	long v;

	if (!s)
		die("%s is not set: start me with a launcher that speaks PMI-1", what);
	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0 || v > 1 << 30)
		die("%s: bad number \"%s\"", what, s);
	return (int)v;
}

static void send_all(const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("write to PMI_FD: %s", strerror(errno));
		p += k;
		n -= (size_t)k;
	}
}

/* reply reads one line, without its newline, into a buffer that the next call
 * reuses. */
static char *reply(void)
{
	static char buf[LINE];
	static size_t have, used;
	char *nl;

	memmove(buf, buf + used, have - used);
	have -= used;
	used = 0;
	while (!(nl = memchr(buf, '\n', have))) {
		ssize_t k;

		if (have == sizeof buf)
			die("reply longer than %d bytes", LINE);
		k = read(fd, buf + have, sizeof buf - have);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			die("read from PMI_FD: %s", strerror(errno));
		if (k == 0)
			die("the server closed the connection");
		have += (size_t)k;
	}
	*nl = 0;
	used = (size_t)(nl - buf) + 1;
	return buf;
}

/* field returns the value of a key in a reply: up to the next blank, or to the
 * end for "value", which comes last. NULL if there is none. */
static const char *field(const char *line, const char *key)
{
	static char out[LINE];
	size_t n = strlen(key);

	for (const char *p = line; p; p = strchr(p, ' ')) {
		p += *p == ' ';
		if (strncmp(p, key, n) != 0 || p[n] != '=')
			continue;
		strcpy(out, p + n + 1);
		if (strcmp(key, "value") != 0)
			out[strcspn(out, " ")] = 0;
		return out;
	}
	return NULL;
}

/* ask sends a request and returns its reply, which must be the named one. */
static char *ask(const char *want, const char *format, ...)
{
	char line[LINE];
	const char *cmd;
	char *r;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof line)
		die("request too long");
	send_all(line, (size_t)n);
	r = reply();
	cmd = field(r, "cmd");
	if (!cmd || strcmp(cmd, want) != 0)
		die("asked \"%.*s\", expected %s, got \"%s\"", n - 1, line, want, r);
	return r;
}

static void check_rc(const char *what, const char *r)
{
	const char *rc = field(r, "rc");

	if (rc && strcmp(rc, "0") != 0)
		die("%s refused: \"%s\"", what, r);
}

static void connect_port(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	char address[INET_ADDRSTRLEN];
	int n;

	if (sscanf(port, "%15[0-9.]:%d", address, &n) != 2 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("PMI_PORT: bad address \"%s\"", port);
	to.sin_port = htons((uint16_t)n);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		die("connect to PMI_PORT: %s", strerror(errno));
	check_rc("initack", ask("initack", "cmd=initack pmiid=%d\n", number("PMI_ID", getenv("PMI_ID"))));
	if (strcmp(field(reply(), "size"), getenv("PMI_SIZE")) != 0 || strcmp(field(reply(), "rank"), getenv("PMI_RANK")) != 0)
		die("PMI_PORT tells another size or rank");
	reply(); /* debug */
}

static void init(void)
{
	const char *name;
	char *r;

	rank = number("PMI_RANK", getenv("PMI_RANK"));
	size = number("PMI_SIZE", getenv("PMI_SIZE"));
	if (getenv("PMI_FD") || !getenv("PMI_PORT"))
		fd = number("PMI_FD", getenv("PMI_FD"));
	else
		connect_port(getenv("PMI_PORT"));
	r = ask("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
	check_rc("init", r);
	ask("maxes", "cmd=get_maxes\n");
	r = ask("my_kvsname", "cmd=get_my_kvsname\n");
	if (!(name = field(r, "kvsname")) || strlen(name) >= sizeof kvs)
		die("bad name of the key-value space: \"%s\"", r);
	strcpy(kvs, name);
}

static void barrier(void)
{
	check_rc("barrier", ask("barrier_out", "cmd=barrier_in\n"));
}
