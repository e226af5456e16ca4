package servepmgr

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmgr"
)

// patience is how long a rank that has closed its connection without CLOSE, or
// called CLOSE alone, may take to end or to abort, which explains more.
const patience = 2 * time.Second

// drainAccepts bounds how many connections are looked at for the last word of a
// rank that has ended.
const drainAccepts = 1024

// Hear reads what ranks have said by now, and where they abort.
func (s *Server) Hear(ranks ...*serve.Rank) {
	if !s.door.Open() {
		return
	}
	for most := drainAccepts; most > 0; {
		n := s.door.Take(most)
		if most -= n; n == 0 {
			break
		}
	}
	whose := map[*conn]bool{}
	for _, r := range ranks {
		whose[s.byRank[r.Number]] = true
	}
	buf := make([]byte, 4<<10)
	for _, c := range s.conns {
		if !c.known || whose[c] {
			serve.ByNow(c.fd, len(buf), func() bool { return s.read(c, buf) })
		}
	}
}

// Judge tells of a rank that has aborted. If a connection said so of which could
// not be seen whose it was, that explains a rank that has failed, and counts for one
// that has not only where the user's choice is that it mostly cannot be seen: else
// another user could end the job.
func (s *Server) Judge(r *serve.Rank, ok bool) *job.Failure {
	if ok && s.server != nil {
		s.server.Ended(r.Number, &s.out)
		s.carry()
	}
	switch x := s.words[r.Number]; {
	case x == nil || r.Aborted:
	case !ok || s.trees:
		return abort(x)
	default:
		s.w.Note(0, "rank %v ended with status 0, but a connection to PMGR, closed before it could be seen whose it was, said that it aborts with code %d: %s", s.w.RankID(r), x.Code, x.Text)
	}
	return nil
}

// livesOn says that a rank still lives that has hung up.
func (s *Server) livesOn(r *serve.Rank) {
	if !r.Exited {
		s.server.Vanished(r.Number, &s.out)
		s.carry()
	}
}

// aborts reports an abort.
func (s *Server) aborts(r *serve.Rank, x *pmgr.Abort) {
	if !r.Aborted {
		r.Aborted = true
		s.w.Fail(r, *abort(x))
	}
}

func abort(x *pmgr.Abort) *job.Failure {
	return &job.Failure{Class: job.CauseAbort, Code: x.Code, Phase: job.PhasePMGR, Text: x.Text}
}
