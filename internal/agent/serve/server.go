// Package serve is the seam between an agent and what answers its ranks: PMI, PMGR,
// the tree's service. Each of these is a Server, in a package below this one, and
// belongs to one world; package jobs has the table of them (internal/agent/jobs/servers.go) and is
// their Node. A server decides nothing about processes, links or the end of the job,
// and knows no other server but those that it is made with.
package serve

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Server answers the ranks of one world on one node. All its methods, and what it
// gives to its Node, are called by the agent's event loop, one at a time. There is a
// server also on nodes without ranks that pass the world's messages on.
type Server interface {
	// Start is called once, when the node has learned of the world. An error says
	// that what it has learned makes no sense.
	Start() error
	// Open makes ready for the local ranks, if there are any, none of which has
	// started. It calls ready once, at once or from a later event: the ranks start
	// when all servers of their world are ready. With an error none of them starts.
	Open(ready func(error))
	// Env is what a local rank finds in its environment, asked for after Open was
	// ready; of a nil rank, what all of them find.
	Env(r *Rank) []string
	// Files is how many descriptors the server may have open at once: for each local
	// rank that lives, and beside those. The agent sees to it, before ranks start,
	// that it can have them.
	Files() (perRank, more int)
	// Socket offers the agent's end of the socket pair that every rank is started
	// with. A server that takes it owns it.
	Socket(r *Rank, fd int) (taken bool, err error)

	// Kinds are those of the messages between nodes that are for this server.
	Kinds() []tree.Kind
	// Message takes one. An error says that its sender broke the protocol.
	Message(m Message) error
	// Lost says that a child is lost, and why.
	Lost(child Neighbor, why string)
	// Turn is called after each batch of events, again and again until no server of
	// the world did anything.
	Turn() (some bool)

	// Hear takes what ranks have said by now that have ended, or are about to be
	// told to.
	Hear(ranks ...*Rank)
	// Judge says what is wrong with a rank that has ended by itself, with status 0
	// where ok, and that Hear has heard of: nil for nothing. The agent adds who and
	// where.
	Judge(r *Rank, ok bool) *job.Failure
	// Ended says that a rank has ended, however.
	Ended(r *Rank)
	// Calls tells what local ranks that have spoken to the server wait for, or how far
	// they have come, by rank.
	Calls() map[job.Rank]Call
	// Shut is called, once or more, when no local rank is left: nobody can call any
	// more. Messages may still come.
	Shut()
	// Close is called when the world, or the agent, is over. It lets go of
	// everything.
	Close()
}

// Idle is a Server that does nothing, for others to embed.
type Idle struct{}

// Start does nothing.
func (Idle) Start() error { return nil }

// Open is ready at once.
func (Idle) Open(ready func(error)) { ready(nil) }

// Env is empty.
func (Idle) Env(*Rank) []string { return nil }

// Files are none.
func (Idle) Files() (perRank, more int) { return 0, 0 }

// Socket takes none.
func (Idle) Socket(*Rank, int) (bool, error) { return false, nil }

// Kinds are none.
func (Idle) Kinds() []tree.Kind { return nil }

// Message refuses it.
func (Idle) Message(m Message) error {
	return fmt.Errorf("message of kind %d for a server that takes none", m.Header.Kind)
}

// Lost does nothing.
func (Idle) Lost(Neighbor, string) {}

// Turn has nothing to do.
func (Idle) Turn() bool { return false }

// Hear does nothing.
func (Idle) Hear(...*Rank) {}

// Judge finds nothing wrong.
func (Idle) Judge(*Rank, bool) *job.Failure { return nil }

// Ended does nothing.
func (Idle) Ended(*Rank) {}

// Calls are none.
func (Idle) Calls() map[job.Rank]Call { return nil }

// Shut does nothing.
func (Idle) Shut() {}

// Close does nothing.
func (Idle) Close() {}

// Call is what a rank waits for, or how far it has come.
type Call struct {
	Text  string    // as in "rank 3: in MPI_Init, its first PMI barrier"
	Since time.Time // of its last word; zero where that is not known
	Waits bool      // for an answer
}

// Neighbor is a neighbor in the tree of one world: the number of a child that has ranks
// of it below, from 0, or Parent.
type Neighbor int

// Parent is the neighbor toward the root.
const Parent Neighbor = -1

// Message is one of another node.
type Message struct {
	overlay.Message          // its From means nothing to a server
	Neighbor        Neighbor // who has handed it over
	// Node is who has written it, in the world's numbers, where it was sent with
	// Node.SendTo.
	Node job.NodeID
}

// Handler is who is told that a descriptor is ready; buf may be used until Ready
// returns.
type Handler interface {
	Ready(on unix.Ready, buf []byte)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(on unix.Ready, buf []byte)

// Ready calls it.
func (f HandlerFunc) Ready(on unix.Ready, buf []byte) { f(on, buf) }
