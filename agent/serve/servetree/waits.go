package servetree

import "github.com/golaunch/golaunch/tree/collective"

// InUse tells whether local ranks use the service.
func (s *Server) InUse() bool { return len(s.callers) > 0 }

// FenceWaits tells whether local ranks wait in a fence over the tree, and its number.
func (s *Server) FenceWaits() (number uint64, some bool) {
	if s.seat.Board == nil { // there are no ranks
		return 0, false
	}
	return s.seat.Completed(), len(s.fences) > 0
}

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

// MissingInFence are those that have not entered the fence of a number.
func (s *Server) MissingInFence(number uint64) (ranks []int) {
	done, _ := s.FenceWaits()
	for _, r := range s.w.Ranks {
		if done < number || done == number && !r.Fencing {
			ranks = append(ranks, int(r.Number))
		}
	}
	return ranks
}
