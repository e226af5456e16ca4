package job

// Cause classes of a failure, in the order in which one node reports several
// (design section 7): a lower class wins.
const (
	CauseAbort      CauseClass = iota // the rank called PMI abort
	CauseSignal                       // a signal ended the rank
	CauseExit                         // the rank exited with a nonzero code
	CauseNoFinalize                   // exit code 0 after PMI init without finalize
	CauseStart                        // the program could not be started
	CauseNodeLost                     // the node or its agent was lost
	CauseProtocol                     // the rank broke the protocol of PMI, of PMGR or of the tree
)

// PhasePMGR is the Phase of a failure in the protocol PMGR.
const PhasePMGR = "PMGR"

// PhaseTree is the Phase of a failure in the protocol between a rank and its
// agent (docs/client.md).
const PhaseTree = "the tree's service"

// CauseClass tells why a rank or a node failed. Its numbers travel in the tree
// and are stable.
type CauseClass uint8

// Exit codes that golaunch itself returns (design section 7).
const (
	ExitUsage         = 2
	ExitTimeout       = 124
	ExitLauncher      = 125 // a lost node or our own failure
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitHUP           = 129
	ExitINT           = 130
	ExitTERM          = 143
)

// Failure is one event that ends, or would end, the job.
type Failure struct {
	Class  CauseClass `cbor:"1,keyasint"`
	Rank   Rank       `cbor:"2,keyasint"` // -1 where a whole node failed
	Host   HostIndex  `cbor:"3,keyasint"`
	PID    int        `cbor:"4,keyasint"`
	Code   int        `cbor:"5,keyasint"` // exit or abort code, where the class has one
	Signal int        `cbor:"6,keyasint"` // signal number, where the class has one
	Phase  string     `cbor:"7,keyasint"` // what was going on: "running", "MPI_Init", ...
	Text   string     `cbor:"8,keyasint"` // abort message or error text
	// Provoked says that golaunch had already told the rank to end.
	Provoked bool `cbor:"9,keyasint"`
	World    int  `cbor:"10,keyasint,omitempty"` // of Rank
}

// ExitCode is the job's exit code when f is its cause (design section 7):
// codes are cut to 8 bits and a nonzero code that would become 0 becomes 1.
func (f Failure) ExitCode() int {
	switch f.Class {
	case CauseSignal:
		return 128 + f.Signal
	case CauseNoFinalize:
		return 1
	case CauseNodeLost, CauseProtocol:
		return ExitLauncher
	case CauseStart:
		return f.Code
	}
	if c := f.Code & 0xff; c != 0 {
		return c
	}
	return 1
}
