package xrcsim

import (
	"fmt"

	"github.com/golaunch/golaunch/xrcsim/workload"
)

// Transport is the means by which processes on different nodes communicate over
// InfiniBand.
type Transport string

// The transports [Sridhar 1.2.2, 4.2.1].
const (
	RC     Transport = "rc"     // reliable connection: a queue pair at each end of each pair of processes
	XRC    Transport = "xrc"    // extended reliable connection: one of a process for each node
	UD     Transport = "ud"     // unreliable datagrams: one of a process for all, and software that repeats
	Hybrid Transport = "hybrid" // datagrams for the first messages of a pair, then RC
	DC     Transport = "dc"     // dynamically connected: some of a process that change their target
)

// Transports returns all of them.
func Transports() []Transport { return []Transport{RC, XRC, UD, Hybrid, DC} }

// Job is the processes of one job: ranks in blocks of consecutive numbers, PPN on
// each node but for the last, which may have less.
type Job struct {
	Ranks, PPN int
}

// NewJob checks the numbers.
func NewJob(ranks, ppn int) (Job, error) {
	switch {
	case ranks < 1 || ranks > workload.MaxRanks:
		return Job{}, fmt.Errorf("%d ranks: expected 1 to %d", ranks, workload.MaxRanks)
	case ppn < 1 || ppn > workload.MaxRanks:
		return Job{}, fmt.Errorf("%d ranks per node: expected 1 to %d", ppn, workload.MaxRanks)
	}
	return Job{ranks, ppn}, nil
}

// Nodes is their number.
func (j Job) Nodes() int { return (j.Ranks + j.PPN - 1) / j.PPN }

// Node is that of a rank.
func (j Job) Node(rank int) int { return rank / j.PPN }

// Block returns the first rank of a node, and the one after its last.
func (j Job) Block(node int) (first, end int) {
	return node * j.PPN, min(j.Ranks, (node+1)*j.PPN)
}

// Inside is the means by which processes of one node communicate.
type Inside string

// The two ways [Sridhar 4.2.1].
const (
	SharedMemory Inside = "shared-memory" // without the adapter
	Network      Inside = "network"       // as those of other nodes
)

// Connect is the time at which connections are made.
type Connect string

// The two times [Sridhar 4.2.1].
const (
	OnDemand Connect = "on-demand" // with the first message between two processes
	Static   Connect = "static"    // in MPI_Init, with all
)
