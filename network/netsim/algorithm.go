package netsim

// Algorithm is a way to carry out a collective operation.
type Algorithm struct {
	Name string // such as "allgather/ring", unlike all others
	Help string // one line
	// Network says that the schedule depends on the network.
	Network bool
	// New makes the schedule of so many ranks, those of n if n is not nil, which it
	// may be unless Network. Bytes are of each message of a sequence, of each block of
	// an all-to-all, of a rank's part in a gather, scatter, allgather or
	// reduce-scatter, and else of all that there is. The error says why there is no
	// such schedule.
	New func(ranks int, n *Network, bytes int64) (Schedule, error)
}
