package report

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// NodeTrace is the part of an agent's report that only --trace needs. Its times are of
// the agent's clock.
type NodeTrace struct {
	Begin      time.Time `cbor:"1,keyasint"` // of the agent's process
	Steps      []Step    `cbor:"2,keyasint"`
	Starts     []Start   `cbor:"3,keyasint"` // of agents on other hosts
	Fences     []Fence   `cbor:"4,keyasint"` // the first MaxFences
	FencesLeft int       `cbor:"5,keyasint"` // fences beyond MaxFences
	Clock      []Offset  `cbor:"6,keyasint"` // told by the parent, in order of time
}

// Tracks of Step.
const (
	TrackWarden = "warden"
	TrackFiles  = "files"
	TrackSpawn  = "spawn" // of ranks
	TrackExit   = "exit"  // of ranks
)

// Step is something that took an agent, or a start, some time.
type Step struct {
	Track string    `cbor:"1,keyasint"` // of an agent's steps; unused in a Start
	Name  string    `cbor:"2,keyasint"`
	Begin time.Time `cbor:"3,keyasint"`
	End   time.Time `cbor:"4,keyasint"`
	Count int       `cbor:"5,keyasint"` // of what was done; 0 where it is not counted
}

// Start is one try to start an agent on a host, and its steps.
type Start struct {
	Host  job.HostIndex `cbor:"1,keyasint"`
	Begin time.Time     `cbor:"2,keyasint"`
	End   time.Time     `cbor:"3,keyasint"`
	Steps []Step        `cbor:"4,keyasint"`
	Error string        `cbor:"5,keyasint"` // why the agent said no hello; "" if it did
}

// MaxFences bounds the fences of all worlds whose times a node keeps.
const MaxFences = 256

// Fence is a completed fence of one world as its ranks on one node saw it.
type Fence struct {
	World    int       `cbor:"1,keyasint"`
	Number   int       `cbor:"2,keyasint"` // from 1
	First    time.Time `cbor:"3,keyasint"` // rank to enter it
	Last     time.Time `cbor:"4,keyasint"`
	Released time.Time `cbor:"5,keyasint"`
}

// trace is n.Trace, or an empty one.
func (n *Node) trace() *NodeTrace {
	if n.Trace == nil {
		return &NodeTrace{}
	}
	return n.Trace
}
