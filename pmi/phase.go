package pmi

import "github.com/golaunch/golaunch/internal/job"

// Phase is a rank's progress, for messages.
type Phase uint8

// The phases of a rank. PMI does not say when MPI_Init returns: a rank counts
// as running once its first fence after init is complete.
const (
	BeforeInit    Phase = iota // has not spoken PMI
	InInit                     // init was answered, no fence is complete yet
	Running                    // between the first fence and finalize
	AfterFinalize              // finalize was answered
)

// String renders the phase as messages show it.
func (p Phase) String() string {
	switch p {
	case BeforeInit:
		return "before MPI_Init"
	case InInit:
		return "in MPI_Init (PMI)"
	case Running:
		return "running"
	}
	return "after finalize"
}

// Phase returns the phase of a rank; BeforeInit for one that is not on this
// node.
func (s *Server) Phase(r job.Rank) Phase {
	if c := s.clients[r]; c != nil {
		return c.phase
	}
	return BeforeInit
}

// Waits returns the operation that a rank waits for; 0 for none.
func (s *Server) Waits(r job.Rank) Op {
	switch c := s.clients[r]; {
	case c == nil || c.deaf:
		return 0
	case c.wait == 0 && len(c.fences) > 0:
		return Fence
	default:
		return c.wait
	}
}

// Initialised reports whether the rank has ever completed PMI init.
func (s *Server) Initialised(r job.Rank) bool { return s.Phase(r) != BeforeInit }

// Finalised reports whether the rank has completed PMI finalize and not begun anew. A
// rank that is Initialised and exits without being Finalised has failed, with any exit
// code (docs/errors.md).
func (s *Server) Finalised(r job.Rank) bool { return s.Phase(r) == AfterFinalize }
