package cache

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Limits that apply where a Config leaves them 0, in bytes.
const (
	DefaultMaxKey     = 64
	DefaultMaxValue   = 1024
	DefaultMaxMessage = 1 << 30
	DefaultMaxDrops   = 16 << 10
	DefaultMaxPart    = 256 << 10
)

// NoNode is the Node of one that is home to no key.
const NoNode = -1

// OneRound as a Config's Budget is room for one put of each rank, however long:
// the O(p) of ScELA section 3.2.4.
const OneRound = -1

// Config describes one node's part in one world.
type Config struct {
	Policy     Policy
	Root       bool // this node has no parent
	Children   int  // number of children that hold the same world, slots in NodeID order
	LocalRanks int  // ranks of the world on this node; may be 0
	Size       int  // ranks of the world, at least 1

	// Below are the ranks of the world at and below each child, which has to bring all
	// of them into each fence; nil where that is not known.
	Below []int
	// Lacking says that ranks were lost before the first fence, which is never complete
	// then.
	Lacking bool

	// World, Nodes and Node are for policies that use homes. World is any name
	// that tells the job's worlds apart, the same at each node. Nodes that hold
	// the world are numbered 0..Nodes-1, this one being Node, in pre-order of
	// the tree; where the order is another, the winner among the puts of one
	// key on several nodes may be another too, though the same for all. A node
	// without ranks of the world, which only passes messages on, may be NoNode.
	World string
	Nodes int
	Node  job.NodeID

	// Budget is the memory, in bytes, for entries that this node can ask for again: the
	// LRU of hcmab-lru and distributed, and the keys that hcs and hcma know to be
	// absent. Any budget is correct. 0 for none, OneRound for a round.
	Budget int

	// Share turns the entries of hcmab's broadcast, which are the same at every
	// node, into a string; nil copies them. Boards of one process can so hold one
	// copy together. Resident counts it at each.
	Share func(entries []byte) string

	MaxKey   int // longest key, in bytes; 0 for DefaultMaxKey
	MaxValue int // longest value, in bytes; 0 for DefaultMaxValue
	// MaxMessage is the longest message that is sent or accepted, in bytes;
	// 0 for DefaultMaxMessage. A world whose epoch outgrows it fails.
	MaxMessage int
	// MaxDrops is the most memory, in bytes, for the list of rewritten keys that
	// a fence's answer carries; where it would take more, caches drop all they
	// hold. 0 for DefaultMaxDrops.
	MaxDrops int
	// MaxPart is the length, in bytes, beyond which hcmab-lru cuts a broadcast
	// into messages, so that it streams through the tree; each has one entry at
	// least. 0 for DefaultMaxPart.
	MaxPart int
}

// validate rejects senseless values and fills in defaults.
func (c *Config) validate() error {
	switch {
	case c.Size < 1:
		return fmt.Errorf("board: a world of %d ranks: at least 1 is needed", c.Size)
	case c.Children < 0:
		return fmt.Errorf("board: %d children", c.Children)
	case c.Below != nil && len(c.Below) != c.Children:
		return fmt.Errorf("board: ranks of %d children of %d", len(c.Below), c.Children)
	case c.LocalRanks < 0 || c.LocalRanks > c.Size:
		return fmt.Errorf("board: %d local ranks in a world of %d", c.LocalRanks, c.Size)
	case c.Root && c.LocalRanks == 0 && c.Children == 0:
		return fmt.Errorf("board: a root without ranks and children holds no world")
	case c.Policy.UsesHomes() && (c.Node < 0 || int(c.Node) >= c.Nodes) && (c.Node != NoNode || c.LocalRanks > 0):
		return fmt.Errorf("board: node %d of %d", c.Node, c.Nodes)
	case c.Budget < OneRound:
		return fmt.Errorf("board: a budget of %d bytes", c.Budget)
	case c.MaxKey < 0 || c.MaxValue < 0 || c.MaxMessage < 0 || c.MaxDrops < 0 || c.MaxPart < 0:
		return fmt.Errorf("board: negative limit (key %d, value %d, message %d, drops %d, part %d bytes)",
			c.MaxKey, c.MaxValue, c.MaxMessage, c.MaxDrops, c.MaxPart)
	}
	if c.Share == nil {
		c.Share = func(entries []byte) string { return string(entries) }
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
	if c.MaxDrops == 0 {
		c.MaxDrops = DefaultMaxDrops
	}
	if c.MaxPart == 0 {
		c.MaxPart = DefaultMaxPart
	}
	c.MaxPart = min(c.MaxPart, c.MaxMessage)
	c.MaxDrops = min(c.MaxDrops, max(0, c.MaxMessage-maxHeader))
	if c.Budget == OneRound {
		c.Budget = c.Size * (c.MaxKey + c.MaxValue + slotCost)
	}
	return nil
}

// New makes the Board that c describes.
func New(c Config) (Board, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if row := c.Policy.row(); row != nil {
		return row.make(c), nil
	}
	var known []string
	for _, p := range Policies() {
		known = append(known, string(p))
	}
	return nil, fmt.Errorf("board: unknown policy %q (known: %s)", c.Policy, strings.Join(known, ", "))
}
