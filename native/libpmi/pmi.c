/*
 * libpmi: the PMI-1 library interface over the wire protocol, for programs that
 * load a libpmi.so and do not speak PMI themselves. Open MPI 3 and 4 are such:
 * their flux component loads the library that FLUX_PMI_LIBRARY_PATH names, and
 * golaunch hands this one to the ranks.
 *
 * It speaks over the descriptor PMI_FD or, where that is not set, over a
 * connection to PMI_PORT. docs/pmi.md has the protocol. Values reach to the end
 * of the line, so they may hold blanks. Like other libraries of this interface
 * it is not for several threads at a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The interface's names of results. */
enum {
	PMI_SUCCESS = 0,
	PMI_FAIL = -1,
	PMI_ERR_INIT = 1,
	PMI_ERR_NOMEM = 2,
	PMI_ERR_INVALID_ARG = 3,
	PMI_ERR_INVALID_KEY = 4,
	PMI_ERR_INVALID_KEY_LENGTH = 5,
	PMI_ERR_INVALID_VAL_LENGTH = 7,
	PMI_ERR_INVALID_LENGTH = 8,
};

/* No line is longer, and no rank or count is larger. */
enum { LINE = 64 << 10, MAX_SIZE = 1 << 24 };

static int fd = -1; /* -1 before PMI_Init and after PMI_Finalize */
static int rank, size;
static int name_max, key_max, value_max; /* with the NUL at the end */
static char kvsname[512];

/* Received bytes: in[0..used) is the line handed out last, in[used..end) came with
 * it. */
static char in[LINE + 1];
static size_t used, end;

static int transmit(const char *data, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return PMI_FAIL;
		data += sent;
		n -= (size_t)sent;
	}
	return PMI_SUCCESS;
}

/* receive returns the next line without its LF, or NULL. It is valid until the
 * next call. */
static char *receive(void)
{
	size_t seen = 0;

	memmove(in, in + used, end - used);
	end -= used;
	used = 0;
	for (;;) {
		char *lf = memchr(in + seen, '\n', end - seen);
		ssize_t n;

		if (lf) {
			*lf = 0;
			used = (size_t)(lf - in) + 1;
			return in;
		}
		seen = end;
		if (end == LINE)
			return NULL;
		n = read(fd, in + end, LINE - end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		end += (size_t)n;
	}
}

/* field finds what follows " NAME=" in a line; "value" is always the last
 * field and reaches to the line's end, so no other is looked for behind it. */
static char *field(char *line, const char *name)
{
	char *value = strstr(line, " value=");
	size_t n = strlen(name);

	for (char *p = strchr(line, ' '); p && (!value || p <= value); p = strchr(p + 1, ' '))
		if (strncmp(p + 1, name, n) == 0 && p[1 + n] == '=')
			return p + n + 2;
	return NULL;
}

/* number reads a field from low to high. */
static int number(char *line, const char *name, int low, int high, int *out)
{
	char *text = field(line, name), *stop;
	long n;

	if (!text)
		return PMI_FAIL;
	errno = 0;
	n = strtol(text, &stop, 10);
	if (stop == text || (*stop && *stop != ' ') || errno || n < low || n > high)
		return PMI_FAIL;
	*out = (int)n;
	return PMI_SUCCESS;
}

/* is tells whether a line is the reply NAME; one without rc is a success. */
static int is(char *line, const char *name, int *rc)
{
	size_t n = strlen(name);

	if (!line || strncmp(line, "cmd=", 4) != 0 || strncmp(line + 4, name, n) != 0 || (line[4 + n] && line[4 + n] != ' '))
		return 0;
	*rc = 0;
	return !field(line, "rc") || number(line, "rc", INT_MIN, INT_MAX, rc) == PMI_SUCCESS;
}

/* ask sends the request that format makes, which has to end in LF, and returns
 * the reply, which must be the one named; NULL otherwise. */
static char *ask(const char *reply, int *rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static char *ask(const char *reply, int *rc, const char *format, ...)
{
	static char request[LINE + 1];
	char *line;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(request, sizeof request, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof request || transmit(request, (size_t)n) != PMI_SUCCESS)
		return NULL;
	line = receive();
	return is(line, reply, rc) ? line : NULL;
}

/* env reads a number of the environment; it is missing if there is no default
 * (-1). */
static int env(const char *name, int missing)
{
	const char *text = getenv(name);
	char *stop;
	long n;

	if (!text)
		return missing;
	errno = 0;
	n = strtol(text, &stop, 10);
	return stop == text || *stop || errno || n < 0 || n > MAX_SIZE ? -1 : (int)n;
}

/* connect_port opens the connection to PMI_PORT, "ADDRESS:PORT", and names the
 * caller. */
static int connect_port(const char *port, int id)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = strrchr(port, ':');
	char address[INET_ADDRSTRLEN], *line;
	int n, rc;

	if (!colon || (size_t)(colon - port) >= sizeof address || id < 0)
		return PMI_FAIL;
	memcpy(address, port, (size_t)(colon - port));
	address[colon - port] = 0;
	n = atoi(colon + 1);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || n <= 0 || n > 65535)
		return PMI_FAIL;
	to.sin_port = htons((uint16_t)n);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		return PMI_FAIL;
	line = ask("initack", &rc, "cmd=initack pmiid=%d\n", id);
	if (!line || rc != 0)
		return PMI_FAIL;
	if (!is(line = receive(), "set", &rc) || number(line, "size", 1, MAX_SIZE, &size) != PMI_SUCCESS)
		return PMI_FAIL;
	if (!is(line = receive(), "set", &rc) || number(line, "rank", 0, size - 1, &rank) != PMI_SUCCESS)
		return PMI_FAIL;
	return is(receive(), "set", &rc) ? PMI_SUCCESS : PMI_FAIL; /* debug */
}

/* open_connection finds the server by the environment. */
static int open_connection(void)
{
	const char *port = getenv("PMI_PORT");
	int type;

	used = end = 0;
	fd = env("PMI_FD", -1);
	if (fd >= 0) {
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof type}) != 0) {
			/* Closed, and maybe opened again as something else. */
			fprintf(stderr, "libpmi: PMI_FD=%d is closed here: who started this program does not pass it on, "
				"as Python's subprocess; golaunch --pmi-port does without it\n", fd);
			return PMI_FAIL;
		}
		rank = env("PMI_RANK", 0);
		size = env("PMI_SIZE", 1);
		return rank >= 0 && size > rank ? PMI_SUCCESS : PMI_FAIL;
	}
	return port ? connect_port(port, env("PMI_ID", -1)) : PMI_FAIL;
}

static int start(void)
{
	char *line, *name;
	int rc;

	if (open_connection() != PMI_SUCCESS)
		return PMI_FAIL;
	if (!ask("response_to_init", &rc, "cmd=init pmi_version=1 pmi_subversion=1\n") || rc != 0)
		return PMI_FAIL;
	line = ask("maxes", &rc, "cmd=get_maxes\n");
	if (!line || number(line, "kvsname_max", 1, (int)sizeof kvsname, &name_max) != PMI_SUCCESS ||
	    number(line, "keylen_max", 1, LINE / 4, &key_max) != PMI_SUCCESS ||
	    number(line, "vallen_max", 1, LINE / 2, &value_max) != PMI_SUCCESS)
		return PMI_FAIL;
	line = ask("my_kvsname", &rc, "cmd=get_my_kvsname\n");
	name = line ? field(line, "kvsname") : NULL;
	if (!name || strlen(name) >= (size_t)name_max)
		return PMI_FAIL;
	strcpy(kvsname, name);
	return PMI_SUCCESS;
}

int PMI_Init(int *spawned)
{
	const char *text = getenv("PMI_SPAWNED");

	if (fd < 0 && start() != PMI_SUCCESS) {
		if (fd >= 0 && !getenv("PMI_FD"))
			close(fd);
		fd = -1;
		return PMI_FAIL;
	}
	if (spawned)
		*spawned = text && strcmp(text, "1") == 0;
	return PMI_SUCCESS;
}

int PMI_Initialized(int *initialized)
{
	if (!initialized)
		return PMI_ERR_INVALID_ARG;
	*initialized = fd >= 0;
	return PMI_SUCCESS;
}

int PMI_Finalize(void)
{
	int rc;

	if (fd < 0)
		return PMI_ERR_INIT;
	if (!ask("finalize_ack", &rc, "cmd=finalize\n"))
		rc = PMI_FAIL;
	if (!getenv("PMI_FD"))
		close(fd); /* PMI_FD stays open for whoever begins again */
	fd = -1;
	return rc == 0 ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_Abort(int code, const char *message)
{
	char request[512];
	int n = snprintf(request, sizeof request - 1, "cmd=abort exitcode=%d message=%s", code, message ? message : "");

	if (n >= (int)sizeof request - 1)
		n = (int)sizeof request - 2;
	for (int i = 0; i < n; i++)
		if (request[i] == '\n')
			request[i] = ' ';
	request[n] = '\n';
	if (fd >= 0)
		transmit(request, (size_t)n + 1);
	fflush(NULL);
	_exit(code & 0xff ? code : 1);
}

int PMI_Barrier(void)
{
	int rc;

	if (fd < 0)
		return PMI_ERR_INIT;
	return ask("barrier_out", &rc, "cmd=barrier_in\n") && rc == 0 ? PMI_SUCCESS : PMI_FAIL;
}

/* give returns a number that is known since PMI_Init. */
static int give(int value, int *out)
{
	if (fd < 0)
		return PMI_ERR_INIT;
	if (!out)
		return PMI_ERR_INVALID_ARG;
	*out = value;
	return PMI_SUCCESS;
}

int PMI_Get_rank(int *out) { return give(rank, out); }
int PMI_Get_size(int *out) { return give(size, out); }
int PMI_KVS_Get_name_length_max(int *out) { return give(name_max, out); }
int PMI_KVS_Get_key_length_max(int *out) { return give(key_max, out); }
int PMI_KVS_Get_value_length_max(int *out) { return give(value_max, out); }

/* An unknown universe is as large as the world. */
int PMI_Get_universe_size(int *out)
{
	int rc, n;
	char *line;

	if (fd < 0)
		return PMI_ERR_INIT;
	line = ask("universe_size", &rc, "cmd=get_universe_size\n");
	if (!line || number(line, "size", -1, MAX_SIZE, &n) != PMI_SUCCESS)
		return PMI_FAIL;
	return give(n > 0 ? n : size, out);
}

int PMI_Get_appnum(int *out)
{
	int rc, n;
	char *line;

	if (fd < 0)
		return PMI_ERR_INIT;
	line = ask("appnum", &rc, "cmd=get_appnum\n");
	if (!line || number(line, "appnum", -1, MAX_SIZE, &n) != PMI_SUCCESS)
		return PMI_FAIL;
	return give(n, out);
}

int PMI_KVS_Get_my_name(char *out, int length)
{
	if (fd < 0)
		return PMI_ERR_INIT;
	if (!out || length < 0)
		return PMI_ERR_INVALID_ARG;
	if (strlen(kvsname) >= (size_t)length)
		return PMI_ERR_INVALID_LENGTH;
	strcpy(out, kvsname);
	return PMI_SUCCESS;
}

/* word tells whether text can stand in a request as a key or a name. */
static int word(const char *text) { return text && *text && !strpbrk(text, " \n"); }

int PMI_KVS_Put(const char *name, const char *key, const char *value)
{
	int rc;

	if (fd < 0)
		return PMI_ERR_INIT;
	if (!word(name) || !value || strchr(value, '\n'))
		return PMI_ERR_INVALID_ARG;
	if (!word(key))
		return PMI_ERR_INVALID_KEY;
	if (strlen(key) >= (size_t)key_max)
		return PMI_ERR_INVALID_KEY_LENGTH;
	if (strlen(value) >= (size_t)value_max)
		return PMI_ERR_INVALID_VAL_LENGTH;
	return ask("put_result", &rc, "cmd=put kvsname=%s key=%s value=%s\n", name, key, value) && rc == 0 ? PMI_SUCCESS : PMI_FAIL;
}

/* Puts are with the server already. */
int PMI_KVS_Commit(const char *name)
{
	if (fd < 0)
		return PMI_ERR_INIT;
	return name ? PMI_SUCCESS : PMI_ERR_INVALID_ARG;
}

int PMI_KVS_Get(const char *name, const char *key, char *out, int length)
{
	char *line, *value;
	int rc;

	if (fd < 0)
		return PMI_ERR_INIT;
	if (!word(name) || !out || length < 0)
		return PMI_ERR_INVALID_ARG;
	if (!word(key))
		return PMI_ERR_INVALID_KEY;
	line = ask("get_result", &rc, "cmd=get kvsname=%s key=%s\n", name, key);
	if (!line)
		return PMI_FAIL;
	value = field(line, "value");
	if (rc != 0 || !value)
		return PMI_ERR_INVALID_KEY;
	if (strlen(value) >= (size_t)length)
		return PMI_ERR_INVALID_LENGTH;
	strcpy(out, value);
	return PMI_SUCCESS;
}

/* nodes_of writes the node of every rank, as PMI_process_mapping tells:
 * "(vector,(first node, nodes, ranks on each),...)", repeated until all ranks
 * have one. */
static int nodes_of(const char *mapping, int *node)
{
	const char *begin = strstr(mapping, ",(");
	int r = 0;

	if (strncmp(mapping, "(vector,", 8) != 0 || !begin)
		return PMI_FAIL;
	for (const char *p = begin; r < size;) {
		int first, nodes, ranks;

		if (sscanf(p, ",(%d,%d,%d)", &first, &nodes, &ranks) != 3 || first < 0 || first > MAX_SIZE || nodes < 1 || nodes > MAX_SIZE || ranks < 1)
			return PMI_FAIL;
		for (int n = 0; n < nodes && r < size; n++)
			for (int i = 0; i < ranks && r < size; i++)
				node[r++] = first + n;
		p = strstr(p + 1, ",(");
		if (!p)
			p = begin;
	}
	return PMI_SUCCESS;
}

/* clique writes up to room ranks of this rank's node, in order, and returns how
 * many there are. Where the server has no mapping, a rank is alone. Where all
 * nodes are one machine by name and shared memory, so that users of the clique
 * would mistake one node's for another's, all ranks are in it. */
static int clique(int *out, int room)
{
	char mapping[LINE / 2];
	int *node = calloc((size_t)size, sizeof *node);
	int n = 0, known;

	if (!node)
		return -1;
	if (getenv("GOLAUNCH_ONE_MACHINE"))
		known = 1; /* and node 0 everywhere */
	else
		known = PMI_KVS_Get(kvsname, "PMI_process_mapping", mapping, sizeof mapping) == PMI_SUCCESS &&
		        nodes_of(mapping, node) == PMI_SUCCESS;
	for (int r = 0; r < size; r++) {
		if (known ? node[r] != node[rank] : r != rank)
			continue;
		if (n < room)
			out[n] = r;
		n++;
	}
	free(node);
	return n;
}

int PMI_Get_clique_size(int *out)
{
	int n;

	if (fd < 0)
		return PMI_ERR_INIT;
	n = clique(NULL, 0);
	return n < 0 ? PMI_ERR_NOMEM : give(n, out);
}

int PMI_Get_clique_ranks(int out[], int length)
{
	int n;

	if (fd < 0)
		return PMI_ERR_INIT;
	if (!out || length < 0)
		return PMI_ERR_INVALID_ARG;
	n = clique(out, length);
	if (n < 0)
		return PMI_ERR_NOMEM;
	return n > length ? PMI_ERR_INVALID_LENGTH : PMI_SUCCESS;
}
