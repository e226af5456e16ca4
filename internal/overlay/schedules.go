package overlay

import "github.com/golaunch/golaunch/internal/job"

// Schedule names a schedule of all ranks of a world: an algorithm, and the bytes that
// netsim.Algorithm speaks of.
type Schedule struct {
	World     int    `cbor:"1,keyasint"`
	Algorithm string `cbor:"2,keyasint"`
	Bytes     int64  `cbor:"3,keyasint"`
}

// MostSchedules is the number of schedules of a world that a node asks for at a time.
const MostSchedules = 8

// ScheduleRequest is a node's question for its ranks' parts of a schedule.
type ScheduleRequest struct {
	Host     job.HostIndex `cbor:"1,keyasint"` // the node; each link checks that it lies in its child's subtree
	Rank     job.Rank      `cbor:"2,keyasint"` // the first on it that wants to know
	Schedule Schedule      `cbor:"3,keyasint"`
}

// ScheduleAnswer is the launcher's answer to that node.
type ScheduleAnswer struct {
	Host     job.HostIndex `cbor:"1,keyasint"`
	Schedule Schedule      `cbor:"2,keyasint"`
	Stages   int           `cbor:"3,keyasint"`
	// Parts are those of the node's ranks, ascending, as record.AppendScheduled has
	// them.
	Parts   [][]byte `cbor:"4,keyasint"`
	Failure string   `cbor:"5,keyasint,omitempty"` // why there is none; "" if all is well
}
