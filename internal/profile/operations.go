package profile

import "fmt"

// Operation is a collective operation. Its number is the one in
// native/libprofile/calls.h.
type Operation uint8

// operations are the collective operations: rooted ones have a root; of some the caller
// gives each part's length and receiver, so that the parts count as sent.
var operations = [...]struct {
	name   string
	rooted bool
	parts  bool
}{
	1:  {"MPI_Barrier", false, false},
	2:  {"MPI_Bcast", true, false},
	3:  {"MPI_Gather", true, false},
	4:  {"MPI_Gatherv", true, true},
	5:  {"MPI_Scatter", true, false},
	6:  {"MPI_Scatterv", true, true},
	7:  {"MPI_Allgather", false, false},
	8:  {"MPI_Allgatherv", false, false},
	9:  {"MPI_Alltoall", false, false},
	10: {"MPI_Alltoallv", false, true},
	11: {"MPI_Alltoallw", false, true},
	12: {"MPI_Reduce", true, false},
	13: {"MPI_Allreduce", false, false},
	14: {"MPI_Reduce_scatter", false, false},
	15: {"MPI_Reduce_scatter_block", false, false},
	16: {"MPI_Scan", false, false},
	17: {"MPI_Exscan", false, false},
	18: {"MPI_Neighbor_allgather", false, true},
	19: {"MPI_Neighbor_allgatherv", false, true},
	20: {"MPI_Neighbor_alltoall", false, true},
	21: {"MPI_Neighbor_alltoallv", false, true},
	22: {"MPI_Neighbor_alltoallw", false, true},
}

func (o Operation) known() bool { return o > 0 && int(o) < len(operations) }

// String returns the operation's name in MPI.
func (o Operation) String() string {
	if !o.known() {
		return fmt.Sprintf("operation %d", uint8(o))
	}
	return operations[o].name
}
