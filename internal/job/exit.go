package job

import "time"

// Cause classes of a failure.
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

// PhasePMIx is the Phase of a failure in a rank's use of PMIx.
const PhasePMIx = "PMIx"

// PhaseAlone is the Phase of a failure of a rank whose MPI took it for the only one.
const PhaseAlone = "alone"

// PhaseTree is the Phase of a failure in the protocol between a rank and its
// agent (docs/client.md).
const PhaseTree = "the tree's service"

// CauseClass is the kind of a rank's or a node's failure. Its numbers travel in the
// tree and are stable.
type CauseClass uint8

// Failure is one event that ends, or would end, the job.
type Failure struct {
	Class  CauseClass `cbor:"1,keyasint"`
	Rank   Rank       `cbor:"2,keyasint"` // -1 where a whole node failed
	Host   HostIndex  `cbor:"3,keyasint"`
	PID    int        `cbor:"4,keyasint"`
	Code   int        `cbor:"5,keyasint"` // exit or abort code, where the class has one
	Signal int        `cbor:"6,keyasint"` // signal number, where the class has one
	Phase  string     `cbor:"7,keyasint"` // at the time: "running", "MPI_Init", ...
	Text   string     `cbor:"8,keyasint"` // abort message or error text
	// Age is the time since it happened. Each node on the way adds the time that the
	// report took to get there, and rested there.
	Age time.Duration `cbor:"9,keyasint"`
	// Said is the time at which Age held, on the monotonic clock of the node that tells of
	// it to the next. 0 where that is not said.
	Said time.Duration `cbor:"16,keyasint,omitempty"`
	// Clock is the time at which it happened, on its node's own monotonic clock: it
	// orders the failures of one node. 0 where a node failed.
	Clock time.Duration `cbor:"12,keyasint,omitempty"`
	// Finalized says that the rank exited with a nonzero code after MPI_Finalize:
	// other ranks have no part in that, and go on.
	Finalized bool `cbor:"11,keyasint,omitempty"`
	// Told says that the rank had been told of the end of a process for which it
	// waited.
	Told  bool `cbor:"13,keyasint,omitempty"`
	World int  `cbor:"10,keyasint,omitempty"` // of Rank
	// Lost are the hosts that were lost with a node, it too: runs of them, ascending and
	// apart, each from a host to before another.
	Lost [][2]HostIndex `cbor:"14,keyasint,omitempty"`
}

// ExitCode returns the job's exit code when f is its cause (docs/errors.md): codes are
// cut to 8 bits and a nonzero code that would become 0 becomes 1. It is never 0: a code
// that no rank can have counts as golaunch's own failure.
func (f Failure) ExitCode() int {
	switch f.Class {
	case CauseSignal:
		if f.Signal >= 1 && f.Signal <= MaxSignal {
			return 128 + f.Signal
		}
	case CauseNoFinalize:
		return 1
	case CauseStart:
		if f.Code >= 1 && f.Code <= MaxCode {
			return f.Code
		}
	case CauseAbort, CauseExit:
		return max(1, f.Code&MaxCode)
	}
	return ExitLauncher
}

// The largest signal and the largest exit code that a process can end with.
const (
	MaxSignal = 64
	MaxCode   = 255
)

// Tie is the time within which failures count as one event: one of them brought the
// others about, and Weight says which. The known times of failures on two nodes err by
// so much that either may seem to be the first: by 22 ms at most, as measured on two
// processors with a load average of 38 (docs/results/culprit.md). It need not be short:
// golaunch ends all ranks at the first failure, and their ends are none.
const Tie = 100 * time.Millisecond

// The weights of failures of one moment: the cause weighs least.
const (
	WeightSeen  = iota // the rank broke a protocol, as its agent saw
	WeightFault        // a signal that no program sends itself because a peer has ended
	WeightOwn          // the rank, or the node, ended by itself
	WeightAbort        // by ranks whose peers have ended
	WeightPipe         // SIGPIPE: of writes to a rank that has ended
	WeightAfter        // an exit after MPI_Finalize: it ends nothing, and is the cause only where nothing else is
	Weights
)

// Signals that a rank may get because a peer of its has ended, as they are numbered on
// Linux: it aborts, it writes to a connection that is closed, somebody ends it.
const (
	sigAbort = 6
	sigPipe  = 13
	sigTerm  = 15
)

// Weight compares f with other failures of one moment.
func (f Failure) Weight() int {
	switch {
	case f.Finalized:
		return WeightAfter
	case f.Class == CauseSignal && f.Signal == sigPipe:
		return WeightPipe
	case f.Class == CauseAbort, f.Told:
		return WeightAbort
	case f.Class == CauseProtocol:
		return WeightSeen
	case f.Class == CauseSignal && f.Signal != sigAbort && f.Signal != sigTerm:
		return WeightFault
	}
	return WeightOwn
}
