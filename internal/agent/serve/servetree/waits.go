package servetree

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/collective"
)

// InUse tells whether local ranks use the service.
func (s *Server) InUse() bool { return len(s.callers) > 0 }

// Fencing tells whether local ranks wait in a fence over the tree.
func (s *Server) Fencing() bool { return len(s.fences) > 0 }

// Waits are what local ranks wait in, at most so many.
func (s *Server) Waits(most int) []collective.Wait { return s.node.Waits(most) }

// Doubt has all members of a communicator told what local ranks call that wait in an
// operation: who disagrees ends it.
func (s *Server) Doubt(comm, seq uint64) { s.node.Doubt(comm, seq) }

// MessageWaits are the local ranks that wait for messages.
func (s *Server) MessageWaits() []collective.MessageWait { return s.node.MessageWaits() }

// MessageText says for which message a rank waits.
func (s *Server) MessageText(rank int) string { return s.node.MessageText(rank) }

// Missing are the local ranks that have not entered an operation that others wait in.
func (s *Server) Missing(comm, seq uint64) []int { return s.node.Missing(comm, seq) }

// Calls tells what local ranks wait for that use the service.
func (s *Server) Calls() map[job.Rank]serve.Call {
	calls := map[job.Rank]serve.Call{}
	for number, c := range s.callers {
		calls[number] = serve.Call{Text: "in no call of the tree's service", Since: c.heard}
		if c.plans > 0 {
			s.waits(calls, number, "waiting for a schedule")
		}
	}
	for _, q := range s.gets {
		s.waits(calls, q.rank, "in a get of the bulletin board")
	}
	for number, text := range s.node.Calls() {
		s.waits(calls, job.Rank(number), text)
	}
	for _, q := range s.fences {
		s.waits(calls, q.rank, fmt.Sprintf("in fence, number %d of the world", s.seat.Completed()))
	}
	return calls
}

// waits notes what a rank waits for, if it is there.
func (s *Server) waits(calls map[job.Rank]serve.Call, rank job.Rank, text string) {
	if c := s.callers[rank]; c != nil {
		calls[rank] = serve.Call{Text: text, Since: c.heard, Waits: true}
	}
}
