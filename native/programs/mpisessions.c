/*
 * mpisessions: two MPI sessions at once, of MPI 4.0, section 11.3, without MPI_Init:
 * one of the processes of mpi://WORLD, which add up their numbers, and one of
 * mpi://SELF. Rank 0 prints "N ranks and 1: sum S ok, P process sets".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* comm_of makes the communicator of a process set. */
static MPI_Comm comm_of(MPI_Session session, const char *set)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Group_from_session_pset(session, set, &group);
	MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Group_free(&group);
	return comm;
}

int main(void)
{
	MPI_Session sessions[2];
	MPI_Comm world, self;
	int rank, size, alone, sets, ok;
	long number, sum = 0;

	for (int i = 0; i < 2; i++)
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &sessions[i]);
	world = comm_of(sessions[0], "mpi://WORLD");
	self = comm_of(sessions[1], "mpi://SELF");
	MPI_Session_get_num_psets(sessions[0], MPI_INFO_NULL, &sets);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	MPI_Comm_size(self, &alone);
	number = rank + 1;
	MPI_Allreduce(&number, &sum, 1, MPI_LONG, MPI_SUM, world);
	ok = alone == 1 && sum == (long)size * (size + 1) / 2;
	if (!ok)
		fprintf(stderr, "mpisessions: rank %d of %d and of %d: sum %ld\n", rank, size, alone, sum);
	else if (rank == 0)
		printf("%d ranks and %d: sum %ld ok, %d process sets\n", size, alone, sum, sets);
	fflush(stdout);
	MPI_Comm_free(&self);
	MPI_Comm_free(&world);
	for (int i = 0; i < 2; i++)
		MPI_Session_finalize(&sessions[i]);
	return ok ? 0 : 1;
}
