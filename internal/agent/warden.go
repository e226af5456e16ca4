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
func (l *life) wardenUp(w wardenUp) {
	if w.err != nil {
		l.do(l.end.WardenFailed(w.err))
		return
	}
	l.warden = w.warden
	l.n.wardenStep.End = l.n.now()
	_ = l.warden.OpenJob(job.Cold) // a warden that is lost shows otherwise
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
	if l.n.job.stopped {
		if err := l.warden.Signal(job.Cold, syscall.SIGSTOP); err != nil {
			l.wardenLost(err)
			return
		}
	}
	l.n.job.startIf()
}

func (l *life) wardenEvents(events []proc.Event) {
	l.end.WardenHeard()
	for _, e := range events {
		switch e := e.(type) {
		case proc.Started:
			l.n.job.rankStarted(e)
		case proc.StartFailed:
			l.n.job.startFailed(e)
		case proc.Gone:
			if e.Text != "" {
				l.n.note(overlay.NoteAlways, "%s", e.Text)
			}
			if e.Job != job.TreeItself {
				l.n.job.do(l.n.job.end.RanksGone(&l.end))
			}
		case proc.Exited:
			l.n.job.rankExited(e)
		case proc.HelperStarted:
			l.n.job.libraries.Helpers.Started(e)
		case proc.HelperEnded:
			l.n.job.libraries.Helpers.Ended(e)
		case proc.Note:
			l.n.note(e.Level, "%s", e.Text)
		}
	}
}

// wardenLost handles the end of the warden.
func (l *life) wardenLost(err error) { l.do(l.end.WardenLost(err, l.n.ends()...)) }

// beat tells the warden, again and again, that this event loop turns.
func (l *life) beat() {
	every := l.warden.BeatEvery()
	patience := every * proc.BeatsPerLoss
	if l.n.job.bearing() {
		patience = max(patience, bearTime)
	}
	l.do(l.end.BeatDue(every, patience))
}

// bearing reports whether the warden has ranks to start.
func (j *Job) bearing() bool {
	for _, w := range j.worlds {
		if w.unborn > 0 {
			return true
		}
	}
	return false
}

// sweep ends what a dead warden left behind, and says why it is lost.
func (l *life) sweep(why error) {
	text := fmt.Sprintf("%v; the ranks of the node were killed", why)
	if l.n.job.tooFew != nil {
		text = fmt.Sprintf("%v, or use fewer ranks per host; %s", l.n.job.tooFew, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if err := l.warden.Sweep(ctx, isAgent); err != nil {
		text = fmt.Sprintf("%v; %v", text, err)
		if l.n.job.end.Killed() { // of a failure in a job that ends nobody is told
			l.n.note(overlay.NoteAlways, "%v", err)
		}
	}
	l.n.job.staging.awaiting = false
	l.n.job.staging.files.Abandon()
	l.n.job.failures.nodeFailed("running", errors.New(text))
}

// isAgent recognises the agents that this one started with fork: they end by
// themselves when their link does.
func isAgent(pid int) bool {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(words, []byte("\x00"+overlay.AgentWord))
}

// signal passes a signal on to the local ranks. A stop holds for ranks that are
// still to come, too: the launch, which has a stream of its own, may be overtaken.
func (j *Job) signal(s overlay.Signal) error {
	if s.Number < 1 || s.Number > 64 {
		return fmt.Errorf("signal %d does not exist", s.Number)
	}
	sig := syscall.Signal(s.Number)
	if j.profiling.signal(sig) {
		return nil
	}
	holds := sig == syscall.SIGSTOP || sig == syscall.SIGCONT
	if holds {
		j.stopped = sig == syscall.SIGSTOP
	}
	if j.node.End().WardenHere() && (j.end.Living() > 0 || holds) {
		if err := j.node.Warden().Signal(job.Cold, sig); err != nil {
			j.node.WardenLost(err)
		}
	}
	return nil
}
