package servepmix

import (
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// Here is how ranks and helpers of a world end.

// held is an abort that is not told yet.
type held struct {
	request uint32
	failure job.Failure
	told    bool
}

// abort holds the word of a rank that wants the job ended.
func (s *Server) abort(h *helper, request uint32, r *rank, b pmix.Abort) {
	r.Heard++
	if r.abort != nil || r.Aborted || r.Exited {
		h.reply(request, pmix.Done{})
		return
	}
	r.abort = &held{request: request, failure: job.Failure{Class: job.CauseAbort, Code: int(b.Status), Text: b.Text, Phase: s.w.Phase(r.Rank)}}
	r.Aborted = true
	whole := pmix.Proc{Namespace: s.w.KVSName, Rank: pmix.Wildcard}
	if procs := s.local.folded(b.Procs); len(procs) > 0 && !slices.Contains(procs, whole) {
		s.w.Note(1, "rank %v aborts some processes alone: golaunch ends the job", s.w.RankID(r.Rank))
	}
	s.local.agent.After(holdAborts, func() { s.tellAbort(r) })
}

// tellAbort tells of one that is held still.
func (s *Server) tellAbort(r *rank) {
	if x := r.abort; x != nil && !x.told {
		x.told = true
		s.w.Fail(r.Rank, x.failure)
		r.helper.reply(x.request, pmix.Done{})
	}
}

// Judge finds a rank wrong that has connected and not finalized.
func (s *Server) Judge(r *serve.Rank, ok bool) *job.Failure {
	x := s.ranks[r.Number]
	if x != nil && !ok && x.connected && !x.finalized && x.helper.dead == nil && !s.local.helpers.Alive(x.helper.library) {
		x.helper.hungUp()
	}
	switch {
	case x == nil:
	case x.helper.dead != nil:
		s.local.explain(x.helper)
		r.Aborted = true // it could not go on
	case ok && x.connected && !x.finalized:
		return &job.Failure{Class: job.CauseNoFinalize}
	}
	return nil
}

// doubt has the ranks of a helper that is over not be to blame.
func (s *Server) doubt(h *helper) {
	for _, p := range s.parts {
		for _, r := range p.ranks {
			r.Aborted = r.Aborted || s.opened && p.helper == h && !r.Exited
		}
	}
}

// noteTold notes that the ranks of a helper are about to hear that a process has ended for
// which they wait: what they do then is not why the job fails.
func (s *Server) noteTold(h *helper, status pmix.Status) {
	if status != pmix.ProcTerminated && status != pmix.LostConnection {
		return
	}
	for _, p := range s.parts {
		for _, r := range p.ranks {
			r.Told = r.Told || p.helper == h
		}
	}
}

// helperLost has nobody wait for the ranks of a helper that live.
func (s *Server) helperLost(h *helper) {
	for i, p := range s.parts {
		if p.helper == h && s.opened && p.living > 0 { // else it has left with its ranks
			s.fences.leave(opening-1-i, pmix.LostConnection)
		}
	}
}

// tellLater tells the root that a rank has ended as it should, for others may wait for it
// in a meeting. Mostly its whole world is over first, and nobody needs to hear.
func (s *Server) tellLater(gone pmix.Gone) {
	if s.quiet = append(s.quiet, gone); len(s.quiet) > 1 {
		return // it goes with the first
	}
	s.local.agent.After(serve.HoldEnds, func() {
		quiet := s.quiet
		s.quiet = nil
		if s.closed() || s.w.Ending() {
			return
		}
		for _, gone := range quiet {
			s.local.tellRoot(gone, 0)
		}
	})
}

// Ended has nobody wait for a rank. It may be called again, for a helper that did not know of
// the rank before.
func (s *Server) Ended(r *serve.Rank) {
	x := s.ranks[r.Number]
	if x == nil {
		return
	}
	s.tellAbort(x)
	if x.helper.dead != nil {
		s.local.explain(x.helper)
	}
	waiting := x.asked
	x.asked = nil
	for _, then := range waiting {
		then(pmix.ProcTerminated, nil)
	}
	gone := pmix.Gone{Proc: s.proc(r.Number)}
	x.helper.say(gone)
	if x.counted {
		return
	}
	x.counted = true
	switch failed := x.connected && !x.finalized; {
	case s.w.Ending(): // all are about to be gone
	case failed:
		s.local.tellRoot(gone, 1)
	case x.published:
		s.local.tellRoot(gone, 0)
	default:
		s.tellLater(gone)
	}
	x.living--
	if x.connected && !x.finalized || s.Over == nil {
		s.outOfFences(x.part)
	} else {
		s.leavers = append(s.leavers, x.part)
	}
}

// outOfFences has the fences fail that a helper's ranks will not enter, as one of them has
// ended. As long as others live, libpmix does without one that has died, and waits for
// ever for one that has finalized.
func (s *Server) outOfFences(p *part) {
	member := opening - 1 - slices.Index(s.parts, p)
	if p.living == 0 {
		s.fences.leave(member, pmix.ProcTerminated)
	} else if slices.ContainsFunc(p.ranks, func(r *rank) bool { return r.Exited && r.finalized }) {
		s.fences.giveUp(s.fences.entered[member], pmix.ProcTerminated)
	}
}

// Turn has those leave the fences that have ended as they should, once everyone is told
// that they have, and tells the user, once, for which rank a fence has failed here.
func (s *Server) Turn() (some bool) {
	silent := s.late && !slices.ContainsFunc(s.w.Ranks, func(r *serve.Rank) bool { return !r.Exited })
	if s.Over == nil || len(s.leavers) == 0 && (!s.failed || s.toldFailed) && !silent {
		return false
	}
	why := s.Over()
	if why == "" || s.w.Ending() {
		return false
	}
	if silent { // nobody has come to speak it
		s.late = false
		s.fences.leave(opening, pmix.ProcTerminated)
	}
	for _, p := range s.leavers {
		s.outOfFences(p)
	}
	s.leavers = nil
	if s.failed && !s.toldFailed {
		s.toldFailed = true
		s.w.Note(overlay.NoteAlways, "%s: the PMIx fence that others wait in cannot complete, and fails for them", why)
	}
	return true
}
