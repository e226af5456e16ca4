package serve

import (
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// CallerBound is how many bytes may wait for a rank before its requests do.
const CallerBound = 1 << 20

// MoreCallers is how many connections to a port beyond one for each local rank may
// not yet have said whose they are.
const MoreCallers = 16

// HoldEnds is how long others need not know of ranks that have ended as they should: for so long
// they are told of together, before all hear that fences cannot complete.
const HoldEnds = time.Second

// Rank is a local rank as all servers of its world, and the agent, know it.
type Rank struct {
	Number  job.Rank
	App     int
	PID     int  // 0 until the warden's word that it was started has come
	Aborted bool // a failure of it was reported: it counts as failed
	Fencing bool // it has entered its world's fence, which is not complete
	Exited  bool
	Heard   int    // how often it has said something over PMI or PMIx
	Told    bool   // of the end of a process for which it waited
	CPUs    string // that it is bound to, as Linux lists them; "" if it is not
}

// World is one world as the servers of one node see it.
type World struct {
	Node
	overlay.World
	ID       int
	Launch   *overlay.Launch
	Hosts    []job.HostIndex // that hold ranks, ascending: nodes by their number in the world
	Self     job.NodeID      // this node's number; -1 if it holds no rank
	Root     bool            // all of the world is on this node or below
	Children int             // with ranks below
	Ranks    []*Rank         // local ones, ascending; none where they were refused
	Refused  bool            // the node was to hold ranks and cannot
	// Toward is the direction in which the nodes of the world are, by number.
	Toward []Direction
}

// Direction is where a node is: a child, Up, Here, or Gone with a child that was
// lost.
type Direction int

// Directions that are no child.
const (
	Up   Direction = -1
	Here Direction = -2
	Gone Direction = -3
)

// Local finds a local rank; nil if it is not here.
func (w *World) Local(number job.Rank) *Rank {
	i, found := slices.BinarySearchFunc(w.Ranks, number, func(r *Rank, n job.Rank) int { return int(r.Number - n) })
	if !found {
		return nil
	}
	return w.Ranks[i]
}

// NodeOf is the number of the node that a rank of the world is on.
func (w *World) NodeOf(rank job.Rank) job.NodeID {
	n, _ := slices.BinarySearch(w.Hosts, job.BlockOf(w.Blocks, rank).Host)
	return job.NodeID(n)
}

// RankID is a rank's name in the job.
func (w *World) RankID(r *Rank) job.RankID { return job.RankID{World: w.ID, Rank: r.Number} }

// Node is what an agent does for the servers of one world. Only Post may be called
// from any goroutine.
type Node interface {
	// Watch has h told when fd can be read, or its other end is gone; Change what it
	// is watched for. CloseFD closes it, Forget only ends the watch. A handler that has
	// closed its descriptor may be told of it once more.
	Watch(fd int, h Handler) error
	Change(fd int, read, write bool) error
	CloseFD(fd int)
	Forget(fd int)
	// Post has the event loop call f. It may come after Close.
	Post(f func())

	// Send queues a message to a neighbor in the world's tree. The body must not be
	// changed afterwards.
	Send(to Neighbor, s link.Stream, kind tree.Kind, body []byte)
	// SendTo queues one for any node of the world but this, by way of the lowest
	// common ancestor.
	SendTo(to job.NodeID, kind tree.Kind, body []byte)
	// Broken cuts a neighbor off that broke the protocol.
	Broken(by Neighbor, err error)

	// Ending says that the ranks were told to end, of the world or the job: what
	// follows from that is no failure.
	Ending() bool
	// Fail reports a failure of a local rank, or of the world if r is nil, unless the
	// job is ending. The node adds who and where.
	Fail(r *Rank, f job.Failure)
	// FailNode reports what the node cannot go on without.
	FailNode(phase string, err error)
	// Phase says how far a rank has come.
	Phase(r *Rank) string
	// Note tells the user something, if they asked for so much.
	Note(level int, format string, args ...any)
	// HostName is this node's.
	HostName() string
	// Address is one at which other nodes of the job reach this one.
	Address() string
}
