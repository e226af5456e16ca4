package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

const (
	// For the warden to end what it was told to end: longer than it tries to by
	// itself, so that what it could not end is named by its own word. It is killed
	// only if that word does not come.
	wardenTimeout = proc.KillLimit + 5*time.Second
	sweepTimeout  = 5 * time.Second // for what a dead warden left behind to die
	// How long a warden may be silent while it starts ranks: it waits for each
	// program to be read, from a slow network file system maybe.
	bearTime = time.Minute
)

// wardenUp takes the warden in; the launch may have come before it.
func (l *life) wardenUp(w wardenUp) {
	if w.err != nil {
		l.do(l.end.WardenFailed(w.err))
		return
	}
	l.warden = w.warden
	l.n.wardenStep.End = l.n.now()
	for _, j := range l.n.jobs.list() {
		_ = l.warden.OpenJob(j.Number()) // a warden that is lost shows otherwise
	}
	l.beat()
	go func() { // ends with the warden
		for {
			events, err := w.warden.Next()
			if err != nil {
				l.n.inbox.Put(wardenLost{err})
				return
			}
			l.n.inbox.Put(wardenEvents{events})
		}
	}()
	l.do(l.end.WardenUp())
	if l.end.Finished() {
		return
	}
	for _, j := range l.n.jobs.list() {
		j.WardenUp()
	}
}

func (l *life) wardenEvents(events []proc.Event) {
	l.end.WardenHeard()
	for _, e := range events {
		switch e := e.(type) {
		case proc.Note:
			l.n.note(e.Level, "%s", e.Text)
		case proc.Gone:
			if e.Text != "" {
				l.n.note(overlay.NoteAlways, "%s", e.Text)
			}
		}
		if j := l.n.jobs.here(e.Of()); j != nil {
			if _, closed := e.(proc.JobClosed); closed {
				l.n.forget(j)
				continue
			}
			j.WardenSaid(e)
		}
	}
}

// wardenLost handles the end of the warden.
func (l *life) wardenLost(err error) {
	l.do(l.end.WardenLost(err, l.n.ends()...))
	for _, j := range l.n.jobs.list() { // of which it was to tell that nothing is left
		if l.n.jobs.over(j.Number()) {
			l.n.forget(j)
		}
	}
}

// beat tells the warden, again and again, that this event loop turns.
func (l *life) beat() {
	every := l.warden.BeatEvery()
	patience := every * proc.BeatsPerLoss
	if l.n.jobs.some((*jobs.Job).Bearing) {
		patience = max(patience, bearTime)
	}
	l.do(l.end.BeatDue(every, patience))
}

// sweep ends what a dead warden left behind, and says why it is lost.
func (l *life) sweep(why error) {
	text := fmt.Sprintf("%v; the ranks of the node were killed", why)
	if tooFew := l.n.machine.tooFew; tooFew != nil {
		text = fmt.Sprintf("%v, or use fewer ranks per host; %s", tooFew, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := l.warden.Sweep(ctx, isAgent); err != nil {
		text = fmt.Sprintf("%v; %v", text, err)
		if !l.n.jobs.some(func(j *jobs.Job) bool { return !j.End().Killed() }) { // of a failure in a job that ends nobody is told
			l.n.note(overlay.NoteAlways, "%v", err)
		}
	}
	l.bereft = errors.New(text)
	for _, j := range l.n.jobs.list() {
		j.NodeLost(l.bereft)
	}
}

// isAgent recognises the agents that this one started with fork: they end by
// themselves when their link does.
func isAgent(pid int) bool {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(words, []byte("\x00"+overlay.AgentWord))
}
