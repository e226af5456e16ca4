/*
 * libmpiinit: has a rank's MPI library find golaunch, whatever starts the program that
 * uses it. golaunch preloads it where a program's file does not show its MPI library, as
 * with scripts, interpreters and wrappers; and where it shows Open MPI 4, which finds its
 * launcher by variables that nothing but the rank itself is to have.
 *
 * At the first call that begins MPI it asks the agent of the node (GOLAUNCH_MPI_PIPE), which
 * sees what the process has loaded, starts a PMIx server if that is needed, and answers
 * with the variables by which this MPI library finds it. They are set while MPI begins,
 * and taken back. docs/pmix.md has the messages.
 *
 * Once loaded it is not in LD_PRELOAD any more. As long as MPI has not begun, what the
 * process executes has it again, if it can be loaded there (exec.c).
 *
 * It is at home with any C library: it is linked with none, but for the name of the one
 * that older releases of glibc have dlsym in, and others take for themselves.
 */
#include "init.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "../preload.h"

enum { MOST_ANSWER = 64 << 10, MOST_SET = 256, MOST_BEFORE = 16 << 10, LOOK_MILLISECONDS = 1000 };

/* UNSEEN is, in a question, the descriptor of a process that nobody can look at. */
enum { UNSEEN = -1 };

/* FINALIZE is the agent's word for an MPICH that hangs in MPI_Finalize. */
#define FINALIZE "+finalize"

/* KEPT begins the variable that Open MPI 4 shares with the ranks that it spawns. */
#define KEPT "OMPI_MCA_orte_precondition_transports="

HIDDEN char self[MOST_PATH];
HIDDEN unsigned char head[HEAD];
HIDDEN int active;

static char answer[MOST_ANSWER]; /* NAME=VALUE or FINALIZE, each with its NUL */
static size_t answer_size;
static const char *set[MOST_SET]; /* those of them that are set now */
static char before[MOST_BEFORE];  /* names of variables of MPI's that were there before */
static int num_set, asked, depth;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* threads may each begin a session */

/* loaded runs before main. */
__attribute__((constructor)) static void loaded(void)
{
	Dl_info info;
	int fd;

	if (!dladdr(&asked, &info) || !info.dli_fname || strlen(info.dli_fname) >= sizeof self)
		return;
	strcpy(self, info.dli_fname);
	leave_preload(&asked);
	if (!getenv(PIPE_VARIABLE) || (fd = open(self, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	active = read(fd, head, sizeof head) == sizeof head;
	close(fd);
}

/* number_in is the number behind some text in what a link of /proc says; 0 for none. */
static uint64_t number_in(const char *link, const char *text)
{
	char says[MOST_PATH];
	ssize_t got = readlink(link, says, sizeof says - 1);
	size_t n = strlen(text);
	uint64_t number = 0;

	says[got < 0 ? 0 : got] = 0;
	if (strncmp(says, text, n) == 0)
		for (const char *at = says + n; *at >= '0' && *at <= '9'; at++)
			number = 10 * number + (uint64_t)(*at - '0');
	return number;
}

/* inode_of is that of a pipe that is a descriptor of this process; 0 for none. Older C
 * libraries have no fstat for those that are not linked with them. */
static uint64_t inode_of(int fd)
{
	char link[] = "/proc/self/fd/0000000000", *at = link + sizeof link - 1;

	do
		*--at = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	memmove(link + sizeof "/proc/self/fd/" - 1, at, (size_t)(link + sizeof link - at));
	return number_in(link, "pipe:[");
}

/* send_question writes to the agent's pipe who asks, and where the answer is to go;
 * UNSEEN for nowhere. */
static int send_question(const char *path, int to)
{
	struct {
		uint32_t pid, fd;
		uint64_t inode;
		/* /proc may be of more than this process's own namespace. */
	} question = {(uint32_t)number_in("/proc/self", ""), (uint32_t)to, to == UNSEEN ? 0 : inode_of(to)};
	struct pollfd on = {.fd = -1, .events = POLLOUT};
	int sent;

	if (question.pid == 0 || (to != UNSEEN && question.inode == 0))
		return 0;
	/* In another /proc, as of a container, it may be anything. */
	if (number_in(path, "pipe:[") == 0 || (on.fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return 0;
	do /* it is full where many ask at once */
		sent = write(on.fd, &question, sizeof question) == sizeof question;
	while (!sent && errno == EAGAIN && (poll(&on, 1, LOOK_MILLISECONDS) != 0 || access(path, W_OK) == 0));
	close(on.fd);
	return sent;
}

/* receive reads so much, unless the agent is gone. */
static int receive(int fd, const char *path, void *data, size_t n)
{
	struct pollfd on = {.fd = fd, .events = POLLIN};

	while (n > 0) {
		int ready = poll(&on, 1, LOOK_MILLISECONDS);
		ssize_t got;

		if (ready == 0 && access(path, W_OK) != 0)
			return 0;
		if (ready <= 0)
			continue;
		got = read(fd, data, n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		data = (char *)data + got;
		n -= (size_t)got;
	}
	return 1;
}

/* tell_alone has the agent know that nobody can look at this process, to which Open MPI is
 * to come that no launcher has told who it is. */
static void tell_alone(const char *path)
{
	if (next_of("ompi_mpi_init", NULL) && !getenv("PMIX_RANK"))
		send_question(path, UNSEEN);
}

/* ask has the agent say what MPI needs here. */
static void ask(void)
{
	const char *path = getenv(PIPE_VARIABLE);
	uint32_t size = 0;
	int saved = errno, ends[2];

	if (active && path && prctl(PR_GET_DUMPABLE) != 1) {
		tell_alone(path);
	} else if (active && path && pipe2(ends, O_CLOEXEC) == 0) {
		if (send_question(path, ends[1]) && receive(ends[0], path, &size, sizeof size) && size < sizeof answer &&
		    receive(ends[0], path, answer, size))
			answer_size = size;
		close(ends[0]);
		close(ends[1]);
	}
	active = 0; /* a process that a rank of MPI starts is on its own */
	if (answer[0] == '!') /* it would be alone, of which the agent has told */
		_exit(1);
	errno = saved;
}

/* is_mpis tells whether a variable is one of those that MPI itself sets when it begins,
 * by which another launcher that the process starts would take itself for a rank. */
static int is_mpis(const char *variable)
{
	return (strncmp(variable, "OMPI_", 5) == 0 || strncmp(variable, "PMIX_", 5) == 0) &&
	       strncmp(variable, KEPT, sizeof KEPT - 1) != 0;
}

/* name_of copies the name of a variable, and tells whether it had room. */
static int name_of(const char *variable, char *name, size_t room)
{
	size_t length = strcspn(variable, "=");

	if (length >= room)
		return 0;
	memcpy(name, variable, length);
	name[length] = 0;
	return 1;
}

/* set_environment sets the variables that MPI needs. Those that the process has set
 * count more. */
static void set_environment(void)
{
	char name[MOST_PATH];
	size_t used = 0;

	if (!asked) {
		asked = 1;
		ask();
	}
	if (answer_size == 0)
		return;
	for (char **at = environ; *at; at++)
		if (is_mpis(*at) && name_of(*at, before + used, sizeof before - 1 - used))
			used += strlen(before + used) + 1;
	before[used] = 0;
	for (const char *at = answer; at < answer + answer_size; at += strlen(at) + 1)
		if (name_of(at, name, sizeof name) && at[strlen(name)] == '=' && !getenv(name) && num_set < MOST_SET &&
		    setenv(name, at + strlen(name) + 1, 1) == 0)
			set[num_set++] = at;
}

/* begin waits for another thread's, so that MPI has what it needs. */
static void begin(void)
{
	pthread_mutex_lock(&beginning);
	if (depth++ == 0)
		set_environment();
	pthread_mutex_unlock(&beginning);
}

/* finalize_needed tells whether the MPICH of this process hangs in MPI_Finalize. It is
 * called when UCX gets a worker, which programs without MPICH may have, too. */
HIDDEN int finalize_needed(void)
{
	if (!asked && next_of("MPII_Version_string", NULL)) { /* it was looked up without MPI_Init */
		asked = 1;
		ask();
	}
	for (const char *at = answer; at < answer + answer_size; at += strlen(at) + 1)
		if (strcmp(at, FINALIZE) == 0)
			return 1;
	return 0;
}

/* was_there tells whether a variable was there before MPI began. */
static int was_there(const char *name)
{
	for (const char *at = before; *at; at += strlen(at) + 1)
		if (strcmp(at, name) == 0)
			return 1;
	return 0;
}

/* unset_environment takes back what was set, and what MPI has set itself. */
static void unset_environment(void)
{
	char name[MOST_PATH];

	if (answer_size == 0)
		return;
	while (num_set > 0)
		if (name_of(set[--num_set], name, sizeof name))
			unsetenv(name);
	for (char **at = environ; *at;)
		if (is_mpis(*at) && name_of(*at, name, sizeof name) && !was_there(name))
			unsetenv(name); /* moves those behind up */
		else
			at++;
}

static void end(void)
{
	pthread_mutex_lock(&beginning);
	if (--depth == 0)
		unset_environment();
	pthread_mutex_unlock(&beginning);
}

/* behind makes a caller's call of a function that begins MPI. */
static int behind(const char *name, const void *caller, const intptr_t with[6])
{
	int (*next)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t) = (__typeof__(next))next_of(name, caller);
	int result;

	if (!next) { /* a program may ask whether it is there, and sees this library's */
		dprintf(STDERR_FILENO, "libmpiinit: %s is in no library of this program; golaunch --mpi none runs it without libmpiinit\n", name);
		return -1;
	}
	begin();
	result = next(with[0], with[1], with[2], with[3], with[4], with[5]);
	end();
	return result;
}

/* BEGINS is a call that begins MPI: those that users make, and those behind them, which
 * alone are seen where a program has looked MPI's functions up by itself. */
#define BEGINS(name) \
	VISIBLE int name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f) \
	{ \
		return behind(#name, __builtin_return_address(0), (intptr_t[]){a, b, c, d, e, f}); \
	}

BEGINS(MPI_Init)
BEGINS(PMPI_Init)
BEGINS(MPI_Init_thread)
BEGINS(PMPI_Init_thread)
BEGINS(MPI_Session_init)
BEGINS(PMPI_Session_init)
BEGINS(ompi_mpi_init)
BEGINS(ompi_mpi_instance_init)
BEGINS(PMIx_Init)
