/*
 * mpiworlds: an MPI program whose worlds meet: what is spawned, or found by a name,
 * is merged into one communicator, over which all ranks add up their numbers.
 *
 *   mpiworlds spawn PROCS [DEPTH]    all ranks together spawn PROCS of this program,
 *                                    which spawn PROCS more, DEPTH deep
 *   mpiworlds several HOST DIR       rank 0 spawns two commands: one process on HOST
 *                                    and two in DIR; they say where they are
 *   mpiworlds add HOST PROCS         rank 0 spawns PROCS on HOST, which it adds
 *   mpiworlds halves                 the odd ranks connect to the even ones by a name
 *   mpiworlds names                  a spawned world connects to its parents by a name
 *   mpiworlds fails CODE             the spawned world's process exits with CODE
 *
 * The lowest rank of what is merged prints "A and B ranks: sum S ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Open MPI 5 warns of the key that its version 4 has. */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define ADD_HOST "PMIX_ADD_HOST"
#else
#define ADD_HOST "add-host"
#endif

static const char service[] = "mpiworlds";

/* meet merges this world with another one and checks that all are there. */
static void meet(MPI_Comm other, int high)
{
	MPI_Comm both;
	int mine, its, rank, size;
	long number, sum = 0, want;

	MPI_Comm_size(other, &mine);
	MPI_Comm_remote_size(other, &its);
	MPI_Intercomm_merge(other, high, &both);
	MPI_Comm_rank(both, &rank);
	MPI_Comm_size(both, &size);
	number = rank + 1;
	MPI_Allreduce(&number, &sum, 1, MPI_LONG, MPI_SUM, both);
	want = (long)size * (size + 1) / 2;
	if (sum != want || size != mine + its) {
		fprintf(stderr, "mpiworlds: rank %d of %d: sum %ld, expected %ld\n", rank, size, sum, want);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	if (rank == 0)
		printf("%d and %d ranks: sum %ld ok\n", mine, its, sum);
	fflush(stdout);
	MPI_Comm_free(&both);
}

/* spawn starts processes of this program, by all ranks of comm. */
static MPI_Comm spawn(char *self, char *word, char *argument, int procs, MPI_Info info, MPI_Comm comm)
{
	char *args[] = {word, argument, NULL};
	MPI_Comm children;

	MPI_Comm_spawn(self, args, procs, info, 0, comm, &children, MPI_ERRCODES_IGNORE);
	return children;
}

/* deeper spawns a world that spawns the next one. */
static void deeper(char *self, int procs, int depth)
{
	char rest[32];
	MPI_Comm children;

	if (depth == 0)
		return;
	snprintf(rest, sizeof rest, "%d,%d", procs, depth - 1);
	children = spawn(self, "spawned", rest, procs, MPI_INFO_NULL, MPI_COMM_WORLD);
	meet(children, 0);
	MPI_Comm_disconnect(&children);
}

static MPI_Info info_of(const char *key, const char *value)
{
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, key, value);
	return info;
}

/* several spawns two commands with keys of their own. */
static MPI_Comm several(char *self, char *host, char *dir)
{
	char *commands[] = {self, self}, *args[] = {"says", NULL}, **argvs[] = {args, args};
	int procs[] = {1, 2};
	MPI_Info infos[] = {info_of("host", host), info_of("wdir", dir)};
	MPI_Comm children;

	MPI_Comm_spawn_multiple(2, commands, argvs, procs, infos, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
	return children;
}

/* says prints which command this process is of, where it runs and in which directory. */
static void says(int rank)
{
	char host[MPI_MAX_PROCESSOR_NAME], dir[4096];
	int len, found, *number;

	MPI_Get_processor_name(host, &len);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
	printf("spawned rank %d of command %d on %s in %s\n", rank, found ? *number : -1, host, getcwd(dir, sizeof dir));
	fflush(stdout);
}

/* serve and call meet by a name, each called by all ranks of comm. */
static void serve(MPI_Comm comm)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm other;
	int rank;

	MPI_Comm_rank(comm, &rank);
	if (rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		MPI_Publish_name(service, MPI_INFO_NULL, port);
	}
	MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &other);
	meet(other, 0);
	MPI_Comm_disconnect(&other);
	if (rank == 0) {
		MPI_Unpublish_name(service, MPI_INFO_NULL, port);
		MPI_Close_port(port);
	}
}

static void call(MPI_Comm comm)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm other;
	int rank, missing = 1;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* the name may come later */
	while (rank == 0 && (missing = MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS))
		usleep(10000);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &other);
	meet(other, 1);
	MPI_Comm_disconnect(&other);
}

static void halves(int rank)
{
	MPI_Comm half;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	if (rank % 2 == 0)
		serve(half);
	else
		call(half);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank, procs, depth, code = 0;
	MPI_Comm other;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&other);
	if (other != MPI_COMM_NULL) {
		meet(other, 1);
		if (argc == 3 && strcmp(what, "spawned") == 0 && sscanf(argv[2], "%d,%d", &procs, &depth) == 2)
			deeper(argv[0], procs, depth);
		else if (strcmp(what, "says") == 0)
			says(rank);
		else if (strcmp(what, "calls") == 0)
			call(MPI_COMM_WORLD);
		else if (argc == 3 && strcmp(what, "fails") == 0)
			_exit(atoi(argv[2]));
		MPI_Comm_disconnect(&other);
	} else if (argc > 2 && strcmp(what, "spawn") == 0) {
		deeper(argv[0], atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 1);
	} else if (strcmp(what, "halves") == 0) {
		halves(rank);
	} else if (strcmp(what, "names") == 0) {
		other = spawn(argv[0], "calls", NULL, 2, MPI_INFO_NULL, MPI_COMM_WORLD);
		meet(other, 0);
		serve(MPI_COMM_WORLD);
		MPI_Comm_disconnect(&other);
	} else if (argc == 3 && strcmp(what, "fails") == 0) {
		other = spawn(argv[0], "fails", argv[2], 1, MPI_INFO_NULL, MPI_COMM_WORLD);
		meet(other, 0);
		MPI_Comm_disconnect(&other); /* waits for one that never comes */
	} else if (argc == 4 && (strcmp(what, "several") == 0 || strcmp(what, "add") == 0)) {
		if (rank == 0) {
			if (strcmp(what, "several") == 0)
				other = several(argv[0], argv[2], argv[3]);
			else
				other = spawn(argv[0], "says", NULL, atoi(argv[3]), info_of(ADD_HOST, argv[2]), MPI_COMM_SELF);
			meet(other, 0);
			MPI_Comm_disconnect(&other);
		}
	} else {
		fprintf(stderr, "usage: mpiworlds spawn PROCS [DEPTH] | several HOST DIR | add HOST PROCS | halves | names | fails CODE\n");
		code = 2;
	}
	MPI_Finalize();
	return code;
}
