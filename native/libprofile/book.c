#define _GNU_SOURCE
#include "book.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../preload.h"

#ifdef MPICH_VERSION
#define THIS_MPI "MPICH"
#define OR_ELSE ", or, if it is Open MPI, with --mpi openmpi"
static const char *const libraries[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so", NULL};
#else
#define THIS_MPI "Open MPI"
#define OR_ELSE ", or without --mpi openmpi"
static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.20", NULL};
#endif

HIDDEN volatile uint64_t nowhere[HEAD_WORDS];

HIDDEN struct book book = {.head = nowhere};

HIDDEN pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HIDDEN uint64_t *header, *pool;
HIDDEN int slot;
static MPI_Group everybody; /* of the world */
static int world_size;
static int comm_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;
static struct peers *unused;

/* real is MPI's own function or variable, which may be known to an interpreter's
 * module alone. A variable may have been moved into the program, which is in front. */
static void *real(const char *name, void *from)
{
	void *f = dlsym(from, name);

	for (int i = 0; !f && libraries[i]; i++) {
		void *mpi = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		f = mpi ? dlsym(mpi, name) : NULL;
	}
	return f;
}

/* foreign ends a program of another MPI, which has or lacks a symbol. */
static void foreign(const char *verb, const char *name)
{
	fprintf(stderr, "libprofile: this program's MPI %s %s, and is not " THIS_MPI "; run it without --profile" OR_ELSE "\n", verb, name);
	_exit(1);
}

void *find(const char *name)
{
	void *f = real(name, RTLD_NEXT);

	if (!f)
		foreign("lacks", name);
	return f;
}

#define PMPI(name) ((__typeof__(&PMPI_##name))find("PMPI_" #name))

/* predefined are handles that are no constants everywhere. */
#ifdef MPICH_VERSION
#define PREDEFINED(handle, symbol) (handle)
#else
#define PREDEFINED(handle, symbol) ((void *)real(symbol, RTLD_DEFAULT))
#endif
#define NO_OP PREDEFINED(MPI_NO_OP, "ompi_mpi_op_no_op")
#define THE_WORLD PREDEFINED(MPI_COMM_WORLD, "ompi_mpi_comm_world")
#define NO_COMM PREDEFINED(MPI_COMM_NULL, "ompi_mpi_comm_null")
#define NO_WIN PREDEFINED(MPI_WIN_NULL, "ompi_mpi_win_null")
#define NO_TYPE PREDEFINED(MPI_DATATYPE_NULL, "ompi_mpi_datatype_null")

/* loaded runs before main. A script has no MPI and hands LD_PRELOAD on; libmpiinit has
 * functions that begin MPI. */
__attribute__((constructor)) static void loaded(void)
{
	if (dlsym(RTLD_NEXT, "PMPI_Comm_rank"))
		leave_preload(&book);
}

/* check_mpi ends a program of another MPI, whose handles are of no use here. */
static void check_mpi(void)
{
#ifdef MPICH_VERSION
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		foreign("has", "ompi_mpi_comm_world");
#else
	if (!THE_WORLD)
		foreign("lacks", "ompi_mpi_comm_world");
#endif
}

uint64_t size_of(MPI_Datatype type)
{
	static __typeof__(&PMPI_Type_size) next;
	static MPI_Datatype none;
	int size = 0;

	if (!next) {
		none = NO_TYPE;
		next = PMPI(Type_size);
	}
	return type == none || next(type, &size) != MPI_SUCCESS || size < 0 ? 0 : (uint64_t)size;
}

MPI_Op no_op(void)
{
	static MPI_Op op;

	if (!op)
		op = NO_OP;
	return op;
}

/* no_copy: a duplicate of a communicator is looked at anew. */
static int no_copy_comm(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
	(void)c, (void)key, (void)extra, (void)in, (void)out;
	*flag = 0;
	return MPI_SUCCESS;
}

static int no_copy_win(MPI_Win w, int key, void *extra, void *in, void *out, int *flag)
{
	(void)w, (void)key, (void)extra, (void)in, (void)out;
	*flag = 0;
	return MPI_SUCCESS;
}

/* gone lets go of what is known of a communicator or window. */
static void gone(struct peers *p, struct peers **cache)
{
	pthread_mutex_lock(&lock);
	if (cache[slot_of(p->handle)] == p)
		__atomic_store_n(&cache[slot_of(p->handle)], NULL, __ATOMIC_RELEASE);
	p->handle = 0;
	free(p->world);
	free(p->to);
	p->world = p->to = NULL;
	p->next = unused;
	unused = p;
	pthread_mutex_unlock(&lock);
}

static int comm_gone(MPI_Comm c, int key, void *value, void *extra)
{
	(void)c, (void)key, (void)extra;
	gone(value, book.comms);
	return MPI_SUCCESS;
}

static int win_gone(MPI_Win w, int key, void *value, void *extra)
{
	(void)w, (void)key, (void)extra;
	gone(value, book.wins);
	return MPI_SUCCESS;
}

/* enter makes peers of a group, which it frees. */
static struct peers *enter(uintptr_t handle, MPI_Group group, int inter)
{
	struct peers *p;
	int n, *ranks, same = 1;
	uint64_t id = inter ? 0x84222325cbf29ce4ull : 0xcbf29ce484222325ull;

	PMPI(Group_size)(group, &n);
	ranks = malloc(2 * sizeof(int) * (size_t)(n > 0 ? n : 1));
	if (!ranks)
		return NULL;
	for (int i = 0; i < n; i++)
		ranks[n + i] = i;
	PMPI(Group_translate_ranks)(group, n, ranks + n, everybody, ranks);
	PMPI(Group_free)(&group);
	for (int i = 0; i < n; i++) {
		if (ranks[i] == MPI_UNDEFINED)
			ranks[i] = -1;
		same &= ranks[i] == i;
		id = (id ^ (uint64_t)(unsigned)ranks[i]) * 0x100000001b3ull;
		id ^= id >> 29;
	}
	if (same) {
		free(ranks);
		ranks = NULL;
	}
	pthread_mutex_lock(&lock);
	p = unused;
	if (p)
		unused = p->next;
	pthread_mutex_unlock(&lock);
	if (!p && !(p = calloc(1, sizeof *p))) {
		free(ranks);
		return NULL;
	}
	p->handle = handle;
	p->size = n;
	p->world = ranks;
	p->inter = inter;
	p->id = (id ^ (uint64_t)n) | 1;
	p->rank = 0;
	return p;
}

struct peers *know_comm(MPI_Comm comm)
{
	static __typeof__(&PMPI_Comm_get_attr) get;
	struct peers *p = NULL;
	MPI_Group group;
	int there = 0, inter = 0;

	if (comm_key == MPI_KEYVAL_INVALID || comm == NO_COMM)
		return NULL;
	if (!get)
		get = PMPI(Comm_get_attr);
	if (get(comm, comm_key, &p, &there) != MPI_SUCCESS)
		return NULL;
	if (!there) {
		PMPI(Comm_test_inter)(comm, &inter);
		if ((inter ? PMPI(Comm_remote_group)(comm, &group) : PMPI(Comm_group)(comm, &group)) != MPI_SUCCESS ||
		    !(p = enter((uintptr_t)comm, group, inter)))
			return NULL;
		PMPI(Comm_rank)(comm, &p->rank);
		PMPI(Comm_set_attr)(comm, comm_key, p);
	}
	__atomic_store_n(&book.comms[slot_of(p->handle)], p, __ATOMIC_RELEASE);
	return p;
}

struct peers *know_win(MPI_Win win)
{
	static __typeof__(&PMPI_Win_get_attr) get;
	struct peers *p = NULL;
	MPI_Group group;
	int there = 0;

	if (win_key == MPI_KEYVAL_INVALID || win == NO_WIN)
		return NULL;
	if (!get)
		get = PMPI(Win_get_attr);
	if (get(win, win_key, &p, &there) != MPI_SUCCESS)
		return NULL;
	if (!there) {
		if (PMPI(Win_get_group)(win, &group) != MPI_SUCCESS || !(p = enter((uintptr_t)win, group, 0)))
			return NULL;
		PMPI(Win_set_attr)(win, win_key, p);
	}
	__atomic_store_n(&book.wins[slot_of(p->handle)], p, __ATOMIC_RELEASE);
	return p;
}

/* know_neighbors finds out to whom neighborhood collectives send; 0 if it cannot. */
int know_neighbors(MPI_Comm comm, struct peers *p)
{
	int kind = MPI_UNDEFINED, n = 0, in = 0, weighted = 0, *to = NULL, *rest;

	if (p->to)
		return 1;
	PMPI(Topo_test)(comm, &kind);
	switch (kind) {
	case MPI_CART:
		PMPI(Cartdim_get)(comm, &n);
		to = malloc(sizeof(int) * (size_t)(2 * n + 1));
		for (int i = 0; to && i < n; i++)
			PMPI(Cart_shift)(comm, i, 1, &to[2 * i], &to[2 * i + 1]);
		n *= 2;
		break;
	case MPI_GRAPH:
		PMPI(Graph_neighbors_count)(comm, p->rank, &n);
		to = malloc(sizeof(int) * (size_t)(n + 1));
		if (to)
			PMPI(Graph_neighbors)(comm, p->rank, n, to);
		break;
	case MPI_DIST_GRAPH:
		PMPI(Dist_graph_neighbors_count)(comm, &in, &n, &weighted);
		to = malloc(sizeof(int) * (size_t)(2 * n + 2 * in + 1));
		if (to) {
			rest = to + n;
			PMPI(Dist_graph_neighbors)(comm, in, rest, rest + in, n, to, rest + 2 * in);
		}
		break;
	}
	if (!to)
		return 0;
	p->num_to = n;
	p->to = to;
	return 1;
}

/* window maps a part of the file; NULL if that cannot be. */
static void *window(int fd, uint64_t offset, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = offset / page * page;
	char *at = mmap(NULL, offset - begin + length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)begin);

	return at == MAP_FAILED ? NULL : at + (offset - begin);
}

/* map_counters maps what this rank needs of the file; 0 if something is wrong. */
static int map_counters(int fd, int rank)
{
	uint64_t row, *head, free_slot = STATE_ABSENT;

	header = window(fd, 0, HEADER_WORDS * 8);
	if (!header || header[HEADER_MAGIC] != LAYOUT_MAGIC || header[HEADER_SIZE] != (uint64_t)world_size ||
	    slot < 0 || (uint64_t)slot >= header[HEADER_RANKS])
		return 0;
	row = header[HEADER_SIZE] * header[HEADER_COLUMNS] * 8;
	head = window(fd, header[HEADER_HEADS] + (uint64_t)slot * HEAD_WORDS * 8, HEAD_WORDS * 8);
	book.sent = window(fd, header[HEADER_SENT] + (uint64_t)slot * row, row);
	book.got = window(fd, header[HEADER_GOT] + (uint64_t)slot * row, row);
	pool = window(fd, header[HEADER_POOL], header[HEADER_CAPACITY] * RECORD_WORDS * 8);
	if (!head || !book.sent || !book.got || !pool ||
	    !__atomic_compare_exchange_n(&head[HEAD_STATE], &free_slot, STATE_CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0; /* a script of this rank has run another program before */
	book.columns = (int)header[HEADER_COLUMNS];
	book.timed = book.columns > 2;
	head[HEAD_RANK] = (uint64_t)rank + 1;
	book.head = head;
	return 1;
}

/* say_mpi writes which MPI this is. */
static void say_mpi(char *to, size_t room)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;

#ifdef MPICH_VERSION
	const char *version = real("MPII_Version_string", RTLD_DEFAULT);

	if (version) {
		snprintf(to, room, "MPICH %s", version);
		return;
	}
#endif
	PMPI(Get_library_version)(text, &length);
	text[strcspn(text, ",\n\t")] = '\0';
	snprintf(to, room, "%s", text);
}

/* attach begins to count, once MPI is there. MPI_Init of a world of ranks that
 * golaunch does not know, as of a rank that is alone, counts nothing. */
void attach(void)
{
	const char *where = getenv(COUNTERS_VARIABLE), *end = where ? strrchr(where, ' ') : NULL;
	char path[128];
	int rank, ready = 0, over = 0, level = MPI_THREAD_SINGLE, fd;

	if (book.head != nowhere)
		return;
	book.tried = 1;
	check_mpi();
	PMPI(Initialized)(&ready); /* not in the sessions model */
	PMPI(Finalized)(&over);
	if (!ready || over)
		return;
	leave_preload(&book);
	if (!end || end - where >= (long)sizeof path)
		return;
	memcpy(path, where, (size_t)(end - where));
	path[end - where] = '\0';
	slot = atoi(end);
	PMPI(Comm_rank)(THE_WORLD, &rank);
	PMPI(Comm_size)(THE_WORLD, &world_size);
	PMPI(Query_thread)(&level);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (map_counters(fd, rank)) {
		book.threads = level == MPI_THREAD_MULTIPLE;
		PMPI(Comm_group)(THE_WORLD, &everybody);
		PMPI(Comm_create_keyval)(no_copy_comm, comm_gone, &comm_key, NULL);
		PMPI(Win_create_keyval)(no_copy_win, win_gone, &win_key, NULL);
		say_mpi((char *)&book.head[HEAD_MPI], (HEAD_WORDS - HEAD_MPI) * 8);
		__atomic_store_n(&book.head[HEAD_STATE], STATE_COUNTING, __ATOMIC_RELEASE);
	}
	close(fd);
}

void detach(void)
{
	if (book.head != nowhere)
		__atomic_store_n(&book.head[HEAD_STATE], STATE_FINISHED, __ATOMIC_RELEASE);
	book.head = nowhere;
	comm_key = win_key = MPI_KEYVAL_INVALID;
}
