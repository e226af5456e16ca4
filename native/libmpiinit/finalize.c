/* The cure of a hang of MPICH in MPI_Finalize, for programs whose file does not show MPICH. */
#define PART_OF_LIBMPIINIT
#include "../libmpichfinalize/finalize.c"
