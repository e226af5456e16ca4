package servepmi

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// Calls lists the calls in which ranks wait that have begun with PMI, or how far they have come.
func (s *Server) Calls() map[job.Rank]serve.Call {
	calls := map[job.Rank]serve.Call{}
	for number, c := range s.conns {
		if s.pmi.Initialised(number) {
			op := s.pmi.Waits(number)
			calls[number] = serve.Call{Text: callText(s.pmi.Phase(number), op, s.seat.Completed()+1), Since: c.heard, Waits: op != 0}
		}
	}
	return calls
}

// callText says how far a rank is and what it waits for, where fence is the number of its
// world's next, from 1. MPI_Init may have several, of which PMI does not tell the last.
func callText(phase pmi.Phase, op pmi.Op, fence uint64) string {
	in := "between MPI_Init and MPI_Finalize"
	switch {
	case phase == pmi.InInit:
		in = "in MPI_Init"
	case phase == pmi.AfterFinalize:
		return "past MPI_Finalize"
	case op == pmi.Fence:
		in = "in MPI_Finalize, or at the end of MPI_Init"
	case op == pmi.SpawnWorld:
		in = "in MPI_Comm_spawn"
	}
	switch op {
	case 0:
		return in + ", in no call of PMI"
	case pmi.Fence:
		return fmt.Sprintf("%s: in PMI's barrier number %d of the world", in, fence)
	}
	return fmt.Sprintf("%s: in PMI's %v", in, op)
}
