package cache

import (
	"fmt"
)

// Policy names a way to spread a world's state over the nodes.
type Policy string

// HCMAB aggregates the puts of a subtree at the fence and broadcasts the merged
// aggregate from the root: no get ever leaves its node.
const HCMAB Policy = "hcmab"

// Peer is a neighbour of a node in the tree: Parent, or the slot 0..k-1 of a
// child. Numbers below Parent are kept for policies that speak to a key's home
// node directly.
type Peer int

// Parent is the neighbour toward the root.
const Parent Peer = -1

// String renders a peer for messages: "parent" or "child 3".
func (p Peer) String() string {
	if p == Parent {
		return "parent"
	}
	return fmt.Sprintf("child %d", int(p))
}

// Epoch counts a world's completed fences.
type Epoch uint64

// Limits that apply where a Config leaves them 0, in bytes.
const (
	DefaultMaxKey     = 64
	DefaultMaxValue   = 1024
	DefaultMaxMessage = 1 << 30
)

// Config describes one node's part in one world.
type Config struct {
	Policy     Policy
	Root       bool // this node has no parent
	Children   int  // number of children that hold the same world, slots in NodeID order
	LocalRanks int  // ranks of the world on this node; may be 0
	Size       int  // ranks of the world, at least 1
	MaxKey     int  // longest key, in bytes; 0 for DefaultMaxKey
	MaxValue   int  // longest value, in bytes; 0 for DefaultMaxValue
	// MaxMessage is the longest message that is sent or accepted, in bytes;
	// 0 for DefaultMaxMessage. A world whose epoch outgrows it fails.
	MaxMessage int
}

// validate rejects what makes no sense and fills in defaults.
func (c *Config) validate() error {
	switch {
	case c.Size < 1:
		return fmt.Errorf("board: a world of %d ranks: at least 1 is needed", c.Size)
	case c.Children < 0:
		return fmt.Errorf("board: %d children", c.Children)
	case c.LocalRanks < 0 || c.LocalRanks > c.Size:
		return fmt.Errorf("board: %d local ranks in a world of %d", c.LocalRanks, c.Size)
	case c.Root && c.LocalRanks == 0 && c.Children == 0:
		return fmt.Errorf("board: a root without ranks and children holds no world")
	case c.MaxKey < 0 || c.MaxValue < 0 || c.MaxMessage < 0:
		return fmt.Errorf("board: negative limit (key %d, value %d, message %d bytes)", c.MaxKey, c.MaxValue, c.MaxMessage)
	}
	if c.MaxKey == 0 {
		c.MaxKey = DefaultMaxKey
	}
	if c.MaxValue == 0 {
		c.MaxValue = DefaultMaxValue
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = DefaultMaxMessage
	}
	return nil
}

// Send asks for one message to be carried to a neighbour. Msg may be shared
// with other sends and must not be changed.
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

// Effects collects what a Board wants done. Methods only append; the caller
// carries the effects out, sends first and in order, and then calls Reset.
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
	// already or come with a later effect. key is not kept.
	Get(token uint64, key []byte, out *Effects)
	// Enter says that one more local rank has entered the current fence.
	Enter(out *Effects) error
	// Receive takes a message that a neighbour's Board sent; msg belongs to
	// the Board from then on. Bytes that are no such message give an error
	// that names the neighbour and the offset.
	Receive(from Peer, msg []byte, out *Effects) error
	// Stats reports what the Board has done and holds.
	Stats() Stats
}

// Stats counts a Board's work so far, and what it holds now.
type Stats struct {
	Epoch         Epoch // fences completed
	Puts          uint64
	Gets          uint64
	Misses        uint64 // gets answered "not found"
	Sent          uint64 // messages
	SentBytes     uint64
	Received      uint64 // messages
	ReceivedBytes uint64
	// Resident estimates the memory held, in bytes: every encoded entry, every
	// message kept for the fence under way, and the index over them.
	Resident int
}

// New makes the Board that c describes.
func New(c Config) (Board, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	switch c.Policy {
	case HCMAB:
		return newHCMAB(c), nil
	}
	return nil, fmt.Errorf("board: unknown policy %q (known: %s)", c.Policy, HCMAB)
}
