package cache

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// Peer identifies the other end of a message: a neighbor in the tree, Parent or the
// slot 0..k-1 of a child, or any node of the world, by its number (Node).
type Peer int

// Parent is the neighbor toward the root.
const Parent Peer = -1

// Node returns the node with a number, wherever in the tree it is. Only policies
// that use homes send to it; the caller routes such messages.
func Node(n job.NodeID) Peer { return Parent - 1 - Peer(n) }

// Node returns the number of a peer that is addressed by it; ok is false for
// neighbors.
func (p Peer) Node() (n job.NodeID, ok bool) { return job.NodeID(Parent - 1 - p), p < Parent }

// String renders a peer for messages: "parent", "child 3" or "node 12".
func (p Peer) String() string {
	if n, ok := p.Node(); ok {
		return fmt.Sprintf("node %d", n)
	}
	if p == Parent {
		return "parent"
	}
	return fmt.Sprintf("child %d", int(p))
}

// wrong wraps the error of a message that a peer should not have sent. It names no
// node: the carrier of messages knows the names of hosts.
func (p Peer) wrong(err error) error {
	if _, ok := p.Node(); ok {
		return fmt.Errorf("board message: %w", err)
	}
	return fmt.Errorf("board message from %v: %w", p, err)
}

// Epoch counts a world's completed fences.
type Epoch uint64

// Send asks for one message to be carried to a peer. Messages to one peer
// arrive in order; there is no order between peers, not even between a node as
// a neighbor and the same node by its number. Msg may be shared with other
// sends and must not be changed.
type Send struct {
	To  Peer
	Msg []byte
}

// Answer is the outcome of the Get that was given the same Token. Value stays
// valid for ever.
type Answer struct {
	Token uint64
	Value string
	Found bool
}

// Release says that the fence which made Epoch the current one is complete:
// all local ranks that entered it may go on.
type Release struct {
	Epoch Epoch
}

// Effects collects a Board's orders. Methods only append; the caller carries the
// effects out, sends first and in order, and then calls Reset.
type Effects struct {
	Sends    []Send
	Answers  []Answer
	Released []Release
}

// Reset empties e and keeps its memory for reuse.
func (e *Effects) Reset() {
	clear(e.Sends) // do not keep messages alive
	clear(e.Answers)
	e.Sends, e.Answers, e.Released = e.Sends[:0], e.Answers[:0], e.Released[:0]
}

// Board is one world's bulletin board at one node. Calls must not overlap.
//
// An error from Start, Enter or Receive means that the world's state can no
// longer be trusted: the caller ends the world and drops the Board.
type Board interface {
	// Start is called once, before any other method. A node below which no
	// rank lives has its first message to send here.
	Start(out *Effects) error
	// Put publishes value under key; both are copied. It takes effect on this
	// node at once and everywhere with the next fence. An error (key or value
	// too long, epoch too large for a message) leaves the Board as it was.
	Put(key, value []byte, out *Effects) error
	// Get asks for key's value; the answer, which bears token, may be in out
	// already or come with a later effect, once other nodes have been asked,
	// and never waits for a rank. key is not kept. A rank enters no fence
	// before its get is answered; where one does, as threads can, the answer
	// may be from the state after that fence.
	Get(token uint64, key []byte, out *Effects)
	// Enter says that one more local rank has entered the current fence.
	Enter(out *Effects) error
	// Receive takes a message that a peer's Board sent; msg belongs to the
	// Board from then on. A message that was sent to a node by its number
	// comes from the sender's number, any other from the neighbor. Bytes that
	// are no such message give an error that names a neighbor and the offset; one
	// from a node's number leaves the Board as it was.
	Receive(from Peer, msg []byte, out *Effects) error
	// Stats reports the Board's work and memory.
	Stats() Stats
}

// Stats counts a Board's work so far, and its present memory.
type Stats struct {
	Epoch         Epoch // fences completed
	Puts          uint64
	Gets          uint64
	NotFound      uint64 // gets answered "not found"
	Misses        uint64 // gets for which another node was asked; all others are hits
	Evictions     uint64 // entries that an LRU gave up to make room
	Sent          uint64 // messages
	SentBytes     uint64
	Received      uint64 // messages
	ReceivedBytes uint64
	// Resident estimates the memory held, in bytes: every encoded entry, every
	// message kept for the fence under way, and the index over them.
	Resident int
}
