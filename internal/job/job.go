// Package job holds golaunch's nouns: ranks, hosts, nodes, the programs to
// start and the ways a rank can end. It imports nothing of this module, owns
// no state and does no I/O; every other package speaks in these types.
//
// Package job does not know how hosts are named or reached (package hostlist,
// package bootstrap), nor where ranks are placed (package placement).
package job

import (
	"cmp"
	"strconv"
)

// Number is a job's on its tree, from 1 on; a restart has the next, and none is used again.
type Number uint32

// TreeItself stands for no job: messages and processes of the tree have it.
const TreeItself Number = 0

// Cold is the job of a tree that is started for one.
const Cold Number = 1

// Rank is one process of a world, 0..size-1 (docs/words.md).
type Rank int

// RankID names a rank among all of a job's worlds.
type RankID struct {
	World int // 0 for the first, else the number of the spawn that made it
	Rank  Rank
}

// String is "3" in the first world, and "1.3" in world 1: the rank's name in labels,
// file names and messages.
func (id RankID) String() string { return string(id.AppendTo(nil)) }

// AppendTo appends the text of String.
func (id RankID) AppendTo(b []byte) []byte {
	if id.World != 0 {
		b = append(strconv.AppendInt(b, int64(id.World), 10), '.')
	}
	return strconv.AppendInt(b, int64(id.Rank), 10)
}

// Compare orders by world, then by rank.
func (id RankID) Compare(o RankID) int {
	return cmp.Or(cmp.Compare(id.World, o.World), cmp.Compare(id.Rank, o.Rank))
}

// HostIndex is the stable position of a host in the planned host list. The
// tree is made of contiguous ranges of it.
type HostIndex int

// NodeID numbers the live hosts densely, 0..nodes-1, in HostIndex order; it is
// fixed by the launch message.
type NodeID int

// NoHost is the HostIndex of a host that is not part of the job, such as the
// launcher's own.
const NoHost HostIndex = -1

// App is one `:`-separated part of the command line: a program and how many
// ranks run it.
type App struct {
	Argv []string `cbor:"1,keyasint"` // program and its arguments; never empty
	N    int      `cbor:"2,keyasint"` // number of ranks, at least 1 once planned
	Env  []string `cbor:"3,keyasint"` // NAME=value, on top of the job's environment
	// Dir is the ranks' working directory. DirGiven says that the user named
	// it, so that a node without it is an error and not a fallback.
	Dir      string `cbor:"4,keyasint"`
	DirGiven bool   `cbor:"5,keyasint"`
	// Path lists the directories in which the program is sought before PATH, between
	// colons.
	Path string `cbor:"6,keyasint,omitempty"`
	// Hosts are the hosts of its ranks, with the slots that they have for it; none
	// means the job's. Agents need not know.
	Hosts []Host `cbor:"-"`
}

// Host is one machine of the job as the user or a resource manager named it.
type Host struct {
	Name  string // as given: a name, an address, or an alias of the ssh configuration
	Slots int    // ranks that it may hold; 0 where the user did not say
	User  string // login name from the host file; empty for the default
	Port  int    // port from the host file; 0 for the default
	Pos   string // where it was named, "file:line" or the flag, for messages
}

// Block is a run of consecutive ranks of one app on one node: the unit in
// which placements travel, so that the launch message is O(nodes).
type Block struct {
	Host  HostIndex `cbor:"1,keyasint"`
	First Rank      `cbor:"2,keyasint"`
	Count int       `cbor:"3,keyasint"`
	App   int       `cbor:"4,keyasint"` // index of the App
}
