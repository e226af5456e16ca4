package servetree

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/record"
)

// A rank leaves the tree's service when it says so, when it ends, or when it has
// closed its socket and lives on for a while: others that wait for it then learn
// that. Its end says more than its closed socket, and is waited for, so that a
// rank that fails is the first to be reported.

// leavePatience is how long a rank that has closed its socket without a word may
// take to end.
const leavePatience = 2 * time.Second

// drop closes a rank's socket. What is on its way to the rank is lost.
func (s *Server) drop(c *caller) {
	delete(s.callers, c.rank)
	s.node.Detach(int(c.rank))
	s.hangUp(c)
}

func (s *Server) hangUp(c *caller) {
	if c.fd >= 0 {
		s.w.CloseFD(c.fd)
		c.fd = -1
		s.write(c) // to nobody
	}
}

// closed notes that a rank says no more: it ends, mostly.
func (s *Server) closed(c *caller) {
	s.hangUp(c)
	r := s.w.Local(c.rank)
	if r.Exited {
		return
	}
	time.AfterFunc(leavePatience, func() { s.w.Post(func() { s.livesOn(r) }) })
}

// livesOn says that a rank lives on that has closed its socket.
func (s *Server) livesOn(r *serve.Rank) {
	if !r.Exited && !s.over {
		s.leaveWhenHeard(r.Number)
	}
}

// Ended has a rank that has ended leave the service, once what it said is handled.
func (s *Server) Ended(r *serve.Rank) {
	if s.w.Ending() {
		return
	}
	s.door.takeAll()
	if c := s.callers[r.Number]; c != nil && c.fd >= 0 {
		buf := make([]byte, 64<<10)
		serve.ByNow(c.fd, len(buf), func() (more bool) {
			n, err := unix.TryRecv(c.fd, buf)
			c.in = append(c.in, buf[:n]...)
			return err == nil
		})
		s.hangUp(c) // a child of the rank may hold the socket open, and go on talking
	}
	s.leaveWhenHeard(r.Number)
	s.endForAll(r)
}

// endForAll has everyone told, a while after, which fences a rank will not enter that
// has ended. Mostly the job, or the rank's world, is over first, as where the rank has
// failed, or the others end like it: then nobody needs to hear.
func (s *Server) endForAll(r *serve.Rank) {
	if s.w.Size == 1 {
		return
	}
	from, how := s.entersFrom(r), s.howEnded(r)
	if s.ended.how != "" && from >= s.ended.from {
		return
	}
	due := s.ended.how != ""
	s.ended = rankEnd{from, how}
	if due {
		return
	}
	time.AfterFunc(serve.HoldEnds, func() {
		s.w.Post(func() {
			x := s.ended
			s.ended = rankEnd{}
			if !s.over && !s.w.Ending() {
				s.node.EndFencesForAll(x.from, x.how)
			}
		})
	})
}

// rankEnd is the first fence that a rank which has ended will not enter, and how it
// has ended; "" is none.
type rankEnd struct {
	from uint64
	how  string
}

// howEnded says how a rank has ended, for those who wait for it in a fence.
func (s *Server) howEnded(r *serve.Rank) string {
	who := fmt.Sprintf("rank %v on %s has ", s.w.RankID(r), s.w.HostName())
	switch {
	case r.Heard == 0:
		return who + "ended without having called MPI_Init"
	case s.w.Phase(r) == pmi.AfterFinalize.String():
		return who + "finalized and ended"
	}
	return who + "ended"
}

// entersFrom is the first fence that a rank has not entered.
func (s *Server) entersFrom(r *serve.Rank) uint64 {
	from := s.seat.Completed()
	if r.Fencing {
		from++
	}
	return from
}

// leaveWhenHeard has a rank leave once its last request was taken.
func (s *Server) leaveWhenHeard(rank job.Rank) {
	if c := s.callers[rank]; c != nil {
		c.leaving = true
		s.takeRequests(c)
		return
	}
	s.leave(rank)
}

// leaveIfOver has a rank leave of which nothing is left to hear.
func (s *Server) leaveIfOver(c *caller) {
	if c.leaving {
		delete(s.callers, c.rank)
		s.leave(c.rank)
	}
}

// leave tells those who wait for a rank.
func (s *Server) leave(rank job.Rank) {
	s.outOfFences(s.w.Local(rank))
	if s.left[rank] {
		return
	}
	s.left[rank] = true
	s.node.Leave(int(rank), s.hasLeft(rank))
}

func (s *Server) hasLeft(rank job.Rank) string {
	return fmt.Sprintf("rank %d on %s has left", rank, s.w.HostName())
}

// outOfFences has everyone told which fences a rank will never enter that has left
// the service. As long as it uses PMI it may enter them by that.
func (s *Server) outOfFences(r *serve.Rank) {
	if !r.Exited && s.seat.MayEnter(r) {
		return
	}
	s.node.EndFences(s.entersFrom(r), s.hasLeft(r.Number))
}

// Enters says that a rank may enter fences over the tree if it may at all: who has
// left is told to those who wait.
func (s *Server) Enters(*serve.Rank) bool { return false }

// Retired has everyone told which fences a rank will never enter that has left the
// service, and now PMI as well.
func (s *Server) Retired(r *serve.Rank) {
	if s.left[r.Number] {
		s.outOfFences(r)
	}
}

// Settle has nothing to do: what is told to ranks is written in Turn, or at once.
func (s *Server) Settle() {}

// fencesOver is why the world's fence under way, or to come, will not be complete for
// some waiters; "" if it may be.
func (s *Server) fencesOver(of collective.Waiters) string {
	if from, why := s.node.FencesEnd(of); s.seat.Completed() >= from {
		return why
	}
	return ""
}

// endFences ends the fences that ranks wait for over the tree and that will not be
// complete, and reports whether there were any.
func (s *Server) endFences() (some bool) {
	if len(s.fences) == 0 {
		return false
	}
	why := s.fencesOver(collective.OverTree)
	if why == "" {
		return false
	}
	waiting := s.fences
	s.fences = nil
	for _, q := range waiting {
		if c := s.callers[q.rank]; c != nil {
			s.tell(c, &record.Record{Kind: record.Fail, Fn: record.FailBoard, Seq: q.request, Src: -1, Count: int(record.CauseLeft), Body: []byte(why)})
		}
	}
	return true
}
