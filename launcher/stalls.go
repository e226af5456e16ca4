package launcher

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree/record"
)

// waitsTimeout bounds the time of a job whose time is up to hear what its ranks wait
// for.
const waitsTimeout = 2 * time.Second

// waitsLate is the event of its end.
type waitsLate struct{}

// stalls finds out about ranks that wait for long. The agents are asked twice: for the
// operations that ranks wait in, and for the ranks that have not entered these.
type stalls struct {
	job      *run
	question overlay.WaitQuestion
	asking   bool
	again    bool           // more ranks have stalled meanwhile
	of       []overlay.Wait // the waits of the question
	told     map[string]bool
	timedOut bool // the job ends after that
	silent   bool // connections without an answer were told
}

// noteStall learns that ranks have waited for long.
func (s *stalls) noteStall() {
	if s.asking {
		s.again = true
	} else if !s.job.killed {
		s.ask(nil)
	}
}

// ask asks all agents, as a new question.
func (s *stalls) ask(of []overlay.WaitID) {
	s.asking = true
	s.question = overlay.WaitQuestion{Number: s.question.Number + 1, Now: s.timedOut, Of: of}
	s.job.broadcast(link.Control, overlay.KindAskWaits, overlay.Encode(s.question))
}

// take takes the answer.
func (s *stalls) take(w overlay.Waits) error {
	switch {
	case w.Number > s.question.Number:
		return errors.New("an answer to what nobody asked")
	case w.Number < s.question.Number || !s.asking:
		return nil
	case s.job.killed && !s.timedOut: // the waits are over
		s.asking = false
		return nil
	case len(s.question.Of) == 0 && len(w.Waits) > 0:
		s.sayUnanswered(w)
		s.sayStates(w)
		s.of = w.Waits
		var of []overlay.WaitID
		for _, x := range w.Waits {
			of = append(of, x.ID)
		}
		s.ask(of)
		return nil
	}
	s.asking = false
	s.sayUnanswered(w)
	s.sayStates(w)
	if len(s.question.Of) > 0 {
		s.sayWaits(w.Waits)
	} else if w.Living > 0 && w.Messages == w.Living {
		examples := w.Examples
		if more := w.Messages - len(examples); more > 0 {
			examples = append(examples, fmt.Sprintf("and %d more", more))
		}
		s.say("every rank waits for a message that does not come: %s", strings.Join(examples, "; "))
	}
	switch {
	case s.timedOut:
		s.timeUp()
	case s.again:
		s.again = false
		s.ask(nil)
	}
	return nil
}

// sayUnanswered tells of connections that ranks wait for, once, and again at the end of a
// job whose time is up.
func (s *stalls) sayUnanswered(w overlay.Waits) {
	if w.Attempts == 0 || s.silent && !s.timedOut {
		return
	}
	s.silent = true
	examples := w.Unanswered
	if more := w.Attempts - len(examples); more > 0 {
		examples = append(examples, fmt.Sprintf("and %d more", more))
	}
	s.say("nobody answers connections of ranks: %s; they wait in MPI_Init, or for messages: "+
		"do these hosts share no network, or is there a firewall? (golaunch doctor tells which hosts reach one another)", strings.Join(examples, "; "))
}

// sayWaits names, of each communicator, the first operation that ranks wait in and
// others have not entered.
func (s *stalls) sayWaits(missing []overlay.Wait) {
	first := map[overlay.WaitID]overlay.Wait{} // with Seq 0
	init := map[int]bool{}                     // worlds whose ranks that keep others in MPI_Init were told
	for _, x := range missing {
		if x.ID.Init {
			init[x.ID.World] = s.sayInit(x)
			continue
		}
		key := x.ID
		key.Seq = 0
		if y, ok := first[key]; len(x.Missing)+len(x.Ended)+len(x.Left) > 0 && (!ok || x.ID.Seq < y.ID.Seq) {
			first[key] = x
		}
	}
	for _, x := range s.of {
		key := x.ID
		key.Seq = 0
		y, ok := first[key]
		if !ok || y.ID != x.ID || x.ID.PMIx && init[x.ID.World] { // that fence is in MPI_Init
			continue
		}
		if awaited := s.missingText(y); awaited != "" { // else the world is over
			s.say("%s, waits for %s", x.Text, awaited)
		}
	}
}

// missingText names the ranks that others wait for in an operation or a fence.
func (s *stalls) missingText(x overlay.Wait) string {
	var list []string
	add := func(runs []overlay.WaitRun, state string) {
		ranks := s.job.worlds.ranksOf(x.ID.World, runs)
		switch {
		case len(ranks) == 1:
			list = append(list, "rank "+record.FoldNumbers(ranks)+", which has "+state)
		case len(ranks) > 1:
			list = append(list, "ranks "+record.FoldNumbers(ranks)+", which have "+state)
		}
	}
	missing := "not entered it"
	if x.ID.PMIx && len(s.job.worlds.ranksOf(x.ID.World, x.Missing)) > 1 { // a node tells only of all its ranks at once
		missing = "not all entered it"
	}
	add(x.Ended, "ended")
	add(x.Left, "finalized")
	add(x.Missing, missing)
	return strings.Join(list, "; and for ")
}

// ranksOf returns the ranks of runs of a world, in order.
func (ws *worlds) ranksOf(world int, runs []overlay.WaitRun) (ranks []int) {
	w := ws.all[world]
	if w == nil {
		return nil
	}
	for _, x := range runs {
		for rank := max(0, x.First); rank-x.First < x.Count && rank < w.plan.Size; rank++ {
			ranks = append(ranks, rank)
		}
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// say says it once, and again at the end of a job whose time is up.
func (s *stalls) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.told[text] && !s.timedOut {
		return
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[text] = true
	if s.timedOut {
		s.job.report.Say("at that time: %s", text)
	} else {
		s.job.report.Say("after %v: %s", s.job.options.Start.StallAfter, text)
	}
}

// timedOut ends a job whose time is up, once the waits of its ranks were told.
func (r *run) timedOut() {
	r.report.Say("the job has not ended within %v: it is killed", r.options.Ending.Timeout)
	if !r.worlds.running() {
		r.report.Say("at that time: %s", r.progress.text())
	}
	if !r.worlds.launched() || r.killed || !r.rooted() {
		r.giveUp(job.ExitTimeout, r.options.Ending.Grace)
		return
	}
	if !r.decided {
		r.decided, r.status = true, job.ExitTimeout
	}
	r.stalls.timedOut = true
	r.stalls.ask(nil)
	r.tree.PostAfter(waitsTimeout, waitsLate{})
}

// timeUp kills it.
func (s *stalls) timeUp() {
	if s.timedOut {
		s.timedOut, s.asking = false, false
		s.job.giveUp(job.ExitTimeout, s.job.options.Ending.Grace)
	}
}
