package agent

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// managers' signals reach the tasks of a job, which are the agents where a resource manager
// has started them: SIGTERM some time before what is left is killed, and what users send
// to their job or have sent before its time is up.
var managers = append([]os.Signal{syscall.SIGTERM}, unix.ForRanks...)

// tasks' signals are those that agents take besides which are the manager's own tasks:
// others have these from a terminal, or from the end of a session.
var tasks = []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

// told is the event of a signal to this process.
type told struct{ signal syscall.Signal }

// heed has the agent be told of signals to this process.
func (l *life) heed() {
	heeded := managers
	if l.n.calls != nil {
		heeded = slices.Concat(managers, tasks)
	}
	signals := make(chan os.Signal, len(heeded))
	signal.Notify(signals, heeded...)
	go func() { // lives as long as the process
		for s := range signals {
			l.n.inbox.Put(told{s.(syscall.Signal)}) //nolint:forcetypeassert // the runtime sends no others
		}
	}()
}

// told acts on a signal to this process. SIGTERM is a demand to end the job, with time for
// its ranks: the launcher decides, since a job without one of its nodes is none. Any other
// is for the ranks here; each node gets its own.
func (l *life) told(s syscall.Signal) {
	switch {
	case s != syscall.SIGTERM:
		for _, j := range l.n.jobs.list() {
			_ = j.Signal(overlay.Signal{Number: int(s)}) // which exists
		}
	case l.n.subtree == nil: // nobody knows this agent yet
		fmt.Fprintln(os.Stderr, "golaunch agent: told to terminate")
		os.Exit(128 + int(s))
	default:
		l.demanded = true
		l.n.up(link.Control, overlay.KindDemand, job.TreeItself, overlay.Encode(overlay.Demand{Host: l.n.self.Index}))
	}
}

// graceOver is the event that ranks which outlive the launcher have had their time.
type graceOver struct{}

// parentLost ends everything here at once; but where a manager ends the job, the launcher
// is part of what it ends, and maybe the first to go: a script that runs it dies of
// SIGTERM, and takes it along. The ranks have their time all the same. A manager's own
// task takes the loss for such an end: its SIGTERM may come later than the news.
func (l *life) parentLost() {
	managed := l.demanded || l.n.calls != nil
	if !managed || l.orphaned || l.n.jobs.living() == 0 {
		l.end.ParentLost()
		return
	}
	l.orphaned = true
	grace := l.n.common.Grace
	for _, j := range l.n.jobs.list() {
		l.n.subtree.Broadcast(link.Control, overlay.KindKill, j.Number(), overlay.Encode(overlay.Kill{Grace: grace}))
	}
	time.AfterFunc(grace, func() { l.n.inbox.Put(graceOver{}) })
	for _, j := range l.n.jobs.list() {
		j.Kill(grace)
	}
}

// orphanEnds ends an agent that has outlived its parent, with its last rank.
func (l *life) orphanEnds() {
	if l.orphaned && l.n.jobs.living() == 0 {
		l.end.ParentLost()
	}
}
