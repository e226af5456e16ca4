package routing

// Use is a collective operation as MPI libraries carry it out.
type Use struct {
	Sequence   string   // Sequence.Name
	Operations []string // those whose algorithms go by it
}

// Usage maps sequences to the operations of MVAPICH and Open MPI that go by them:
// 18 algorithms, no more than these eight sequences [Zahavi, table 1]. An
// operation is listed if any algorithm of either library goes by the sequence,
// for some size of message or number of ranks. No algorithm is marked at
// tournament.
func Usage() []Use {
	return []Use{
		{"binomial", []string{"allreduce", "barrier", "broadcast", "gather", "reduce", "reduce-scatter", "scatter"}},
		{"recursive doubling", []string{"allgather", "allreduce", "alltoall", "barrier", "broadcast", "reduce-scatter"}},
		{"recursive halving", []string{"allreduce", "reduce", "reduce-scatter"}},
		{"dissemination", []string{"alltoall", "barrier"}},
		{"reverse dissemination", []string{"allgather"}},
		{"tournament", nil},
		{"ring", []string{"allgather", "allreduce", "broadcast", "reduce", "reduce-scatter", "scatter"}},
		{"shift", []string{"alltoall", "reduce-scatter"}},
	}
}

// Sequences returns all that Usage names, for n ranks.
func Sequences(n int) []Sequence {
	return []Sequence{Binomial(n), RecursiveDoubling(n), RecursiveHalving(n), Dissemination(n),
		ReverseDissemination(n), Tournament(n), Ring(n), Shift(n)}
}
