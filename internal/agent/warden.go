package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// killSignal ends a rank at once.
const killSignal = syscall.SIGKILL

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
func (a *Agent) wardenUp(w wardenUp) {
	if w.err != nil {
		a.do(a.end.WardenFailed(w.err))
		return
	}
	a.warden = w.warden
	a.tracing.warden.End = a.now()
	_ = a.warden.OpenJob(job.Cold) // a warden that is lost shows otherwise
	a.beat()
	go func() { // ends with the warden
		for {
			events, err := w.warden.Next()
			if err != nil {
				a.inbox.Put(wardenLost{err})
				return
			}
			a.inbox.Put(wardenEvents{events})
		}
	}()
	a.do(a.end.WardenUp())
	if a.end.Finished() {
		return
	}
	if a.stopped {
		if err := a.warden.Signal(job.Cold, syscall.SIGSTOP); err != nil {
			a.wardenLost(err)
			return
		}
	}
	a.startIf()
}

func (a *Agent) wardenEvents(events []proc.Event) {
	a.end.WardenHeard()
	for _, e := range events {
		switch e := e.(type) {
		case proc.Started:
			a.rankStarted(e)
		case proc.StartFailed:
			a.startFailed(e)
		case proc.Gone:
			if e.Text != "" {
				a.note(overlay.NoteAlways, "%s", e.Text)
			}
			if e.Job != job.TreeItself {
				a.do(a.end.RanksGone())
			}
		case proc.Exited:
			a.rankExited(e)
		case proc.HelperStarted:
			a.libraries.Helpers.Started(e)
		case proc.HelperEnded:
			a.libraries.Helpers.Ended(e)
		case proc.Note:
			a.note(e.Level, "%s", e.Text)
		}
	}
}

// wardenLost handles the end of the warden.
func (a *Agent) wardenLost(err error) { a.do(a.end.WardenLost(err)) }

// beat tells the warden, again and again, that this event loop turns.
func (a *Agent) beat() {
	every := a.warden.BeatEvery()
	patience := every * proc.BeatsPerLoss
	if a.bearing() {
		patience = max(patience, bearTime)
	}
	a.do(a.end.BeatDue(every, patience))
}

// bearing reports whether the warden has ranks to start.
func (a *Agent) bearing() bool {
	for _, w := range a.worlds {
		if w.unborn > 0 {
			return true
		}
	}
	return false
}

// sweep ends what a dead warden left behind, and says why it is lost.
func (a *Agent) sweep(why error) {
	text := fmt.Sprintf("%v; the ranks of the node were killed", why)
	if a.tooFew != nil {
		text = fmt.Sprintf("%v, or use fewer ranks per host; %s", a.tooFew, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := a.warden.Sweep(ctx, isAgent); err != nil {
		text = fmt.Sprintf("%v; %v", text, err)
		if a.end.Killed() { // of a failure in a job that ends nobody is told
			a.note(overlay.NoteAlways, "%v", err)
		}
	}
	a.awaiting = false
	a.files.Abandon()
	a.nodeFailed("running", errors.New(text))
}

// isAgent recognises the agents that this one started with fork: they end by
// themselves when their link does.
func isAgent(pid int) bool {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(words, []byte("\x00"+overlay.AgentWord))
}

// signal passes a signal on to the local ranks. A stop holds for ranks that are
// still to come, too: the launch, which has a stream of its own, may be overtaken.
func (a *Agent) signal(s overlay.Signal) error {
	if s.Number < 1 || s.Number > 64 {
		return fmt.Errorf("signal %d does not exist", s.Number)
	}
	sig := syscall.Signal(s.Number)
	if a.profileSignal(sig) {
		return nil
	}
	holds := sig == syscall.SIGSTOP || sig == syscall.SIGCONT
	if holds {
		a.stopped = sig == syscall.SIGSTOP
	}
	if a.end.WardenHere() && (a.end.Living() > 0 || holds) {
		if err := a.warden.Signal(job.Cold, sig); err != nil {
			a.wardenLost(err)
		}
	}
	return nil
}
