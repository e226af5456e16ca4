package servepmix

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// A process connects as the rank that its PMIX_RANK says, and libpmix believes it: also as
// one of another process, and then somebody is missing where all are waited for. A rank's
// own processes may connect as that rank, each by itself. So when one more has connected
// as a rank than has finalized, it is looked whose the connections are.

// claimPatience is how long a process that is connected may take to say who it is.
const claimPatience = time.Second

// claims are the processes that have connected as a rank.
type claims struct {
	all  int
	open int // that have not finalized
}

// claimed notes that a process has connected as a rank, or has finalized.
func (l *Local) claimed(h *helper, s *Server, r *rank, finalized bool) {
	if finalized {
		r.claims.open = max(0, r.claims.open-1)
		return
	}
	r.claims.all++
	if r.claims.open++; r.claims.open > 1 {
		l.look(look{h, s, r, looksAgain})
	}
}

// look is a look at the connections of a helper, for those that claim to be a rank.
type look struct {
	helper *helper
	server *Server
	rank   *rank
	again  int // how often it may be repeated
}

// looksAgain is how often a look is repeated that did not find all owners: the tables of
// /proc change while they are read, and a process may be between two states.
const looksAgain = 5

// looks keeps those who connect again and again from having the agent read /proc all the
// time: it looks once in claimPatience, and ranks that claim meanwhile wait, each once.
type looks struct {
	under bool // one was made not long ago
	due   []look
}

func (l *Local) look(x look) {
	if l.looks.under {
		if !slices.ContainsFunc(l.looks.due, func(d look) bool { return d.rank == x.rank }) {
			l.looks.due = append(l.looks.due, x)
		}
		return
	}
	l.looks.under = true
	l.lookWho(x)
	l.agent.After(claimPatience, func() {
		l.looks.under = false
		if due := l.looks.due; len(due) > 0 && !l.over {
			l.looks.due = due[1:]
			l.look(due[0])
		}
	})
}

// lookWho blames a rank that is connected, and not as itself, where another has more who
// are connected as it than are its own.
func (l *Local) lookWho(x look) {
	s, r := x.server, x.rank
	if s.w.Ending() || r.Exited || r.claims.open < 2 || x.helper.dead != nil {
		return
	}
	of, others, err := l.agent.Connected(l.helpers.PID(x.helper.library))
	switch {
	case err == nil && of[s.w.RankID(r.Rank)] >= r.claims.open:
		return
	case err == nil:
		l.blameOthers(x, of)
	}
	switch {
	case err == nil && others == 0:
	case x.again > 0:
		x.again--
		l.look(x)
	default:
		l.agent.Note(0, "%d processes are connected over PMIx as rank %v, and whose they are is not known of all: "+
			"if ranks hang, has one changed PMIX_RANK?", r.claims.open, s.w.RankID(r.Rank))
	}
}

// blameOthers blames ranks with more connections than they have claimed, in a moment.
func (l *Local) blameOthers(x look, of map[job.RankID]int) {
	for _, name := range slices.Sorted(maps.Keys(l.servers)) {
		t := l.servers[name]
		for _, number := range slices.Sorted(maps.Keys(t.ranks)) {
			q := t.ranks[number]
			if had := q.claims.all; q != x.rank && q.helper == x.helper && !q.finalized && of[t.w.RankID(q.Rank)] > had {
				l.agent.After(claimPatience, func() { l.blame(t, q, had, x.server.w.RankID(x.rank.Rank)) })
			}
		}
	}
}

// blame fails a rank that was connected and has not said since that it is, though it may
// have ended as if all were well: others wait for it.
func (l *Local) blame(t *Server, q *rank, had int, as job.RankID) {
	if l.over || q.claims.all > had || q.Aborted {
		return
	}
	q.Aborted = true
	t.w.Fail(q.Rank, job.Failure{
		Class: job.CauseProtocol, Phase: job.PhasePMIx,
		Text: fmt.Sprintf("it has connected as rank %v: has it changed PMIX_RANK?", as),
	})
}
