package report

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Node is the entry of one agent. Its times are of its own clock.
type Node struct {
	Host     job.HostIndex `cbor:"1,keyasint"`
	Parent   job.HostIndex `cbor:"2,keyasint"` // job.NoHost for the root; told by the parent
	Level    int           `cbor:"3,keyasint"` // links between it and the root
	PID      int           `cbor:"4,keyasint"`
	Phases   []Phase       `cbor:"5,keyasint"`
	Counters Counters      `cbor:"6,keyasint"`
	Trace    *NodeTrace    `cbor:"7,keyasint,omitempty"` // for --trace only
}

// Phase is a step of an agent's or the launcher's work and when it was over.
type Phase struct {
	Name string    `cbor:"1,keyasint" json:"phase"`
	End  time.Time `cbor:"2,keyasint" json:"end"`
}

// Outcomes of a rank.
const (
	Succeeded  = "succeeded"
	Failed     = "failed"
	Ended      = "ended" // it was told to
	NotStarted = "not started"
)

// Rank is the entry of one rank. Its times are of its node's clock.
type Rank struct {
	World    int           `cbor:"1,keyasint"`
	Rank     job.Rank      `cbor:"2,keyasint"`
	Host     job.HostIndex `cbor:"3,keyasint"`
	PID      int           `cbor:"4,keyasint"` // 0 where it was not started
	Outcome  string        `cbor:"5,keyasint"`
	ExitCode int           `cbor:"6,keyasint"` // 0 where a signal ended it
	Signal   int           `cbor:"7,keyasint"` // 0 where none did
	User     time.Duration `cbor:"8,keyasint"`
	System   time.Duration `cbor:"9,keyasint"`
	MaxRSS   int64         `cbor:"10,keyasint"` // bytes
	Start    time.Time     `cbor:"11,keyasint"` // zero where it was not started
	End      time.Time     `cbor:"12,keyasint"`
	CPUs     string        `cbor:"13,keyasint,omitempty"` // to which it is bound, as in 0-3,8; "" if it is not
}
