package launcher

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// handled are the signals that golaunch takes for the whole job, beside realTime's.
var handled = slices.Concat([]os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGPIPE,
}, unix.ForRanks)

// realTime has the real-time signals to golaunch, for its ranks, from the first launch on.
// Go takes some 25 µs to catch one and to let go of it, and they are many: nobody waits for
// that, neither at a start nor at an end.
var realTime = sync.OnceValue(func() <-chan os.Signal {
	c := make(chan os.Signal, 8)
	go signal.Notify(c, slices.DeleteFunc(unix.RealTime(), signal.Ignored)...) // ends when all are caught
	return c
})

// stopAfter is how long ranks may take to act on SIGTSTP before they are
// stopped: they lead sessions of their own, in which the kernel ignores it.
const stopAfter = 100 * time.Millisecond

// stopNow is the event of that time's end.
type stopNow struct{}

const (
	// sameDemand is how long further signals of one kind that end the job are the
	// same demand: timeout(1) signals golaunch, and then its whole group.
	sameDemand = time.Second
	// sameKey is that of SIGINT where golaunch is what a terminal's Ctrl-C is for: who
	// presses it twice means it. What timeout(1) runs is in the background.
	sameKey = 200 * time.Millisecond
	// livedThrough is how long ranks go on after an interrupt that was theirs to
	// handle, as a debugger's, before it is forgotten.
	livedThrough = 5 * time.Second
)

// contextEnded stands among the signals for the end of Run's context, which comes
// once and so counts always.
const contextEnded syscall.Signal = 0

// demands are those to end the job so far.
type demands struct {
	count int
	last  map[syscall.Signal]time.Time // when one of its kind was counted last
	// interrupt is when the only one came, if it was passed on to ranks, which may
	// live on.
	interrupt time.Time
}

// sameFor is how long further signals are the same demand.
func sameFor(s syscall.Signal) time.Duration {
	if s == syscall.SIGINT && unix.OwnsTerminal() {
		return sameKey
	}
	return sameDemand
}

// next takes a demand and returns how many there are with it, 0 if it belongs to
// the last of its kind, which further ones do for so long.
func (d *demands) next(s syscall.Signal, now time.Time, same time.Duration) int {
	if last, ok := d.last[s]; ok && now.Sub(last) < same {
		return 0
	}
	if d.last == nil {
		d.last = make(map[syscall.Signal]time.Time)
	}
	d.count++
	d.last[s], d.interrupt = now, time.Time{}
	return d.count
}

// interruptOld is the event that ranks may have lived through an interrupt, the
// one that came then.
type interruptOld struct{ came time.Time }

// catch begins to take the job's signals. SIGPIPE is among them for what the failed
// write says instead: of what Go's runtime does by itself golaunch would die, and the
// report with it. Those of the terminal's job control
// never stop golaunch: reading in the background waits (see stdinPump), writing
// goes through. What golaunch was started to ignore, as nohup has it do with SIGHUP,
// stays ignored; of SIGTERM Go's runtime does not tell.
func (r *run) catch() {
	r.hadTerminal = unix.HasTerminal()
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	caught := slices.Clone(handled)
	if r.options.Input.PTY {
		caught = append(caught, syscall.SIGWINCH)
	}
	signal.Notify(r.signals, slices.DeleteFunc(caught, signal.Ignored)...)
}

// signal acts on a signal to golaunch: the first SIGINT interrupts the ranks, which
// may live through it; SIGTERM and SIGHUP end the job, with time for the ranks to do
// so; a second of these three, whichever it is, kills the ranks, and a third leaves
// at once; SIGTSTP stops the ranks and golaunch; others are passed on to the ranks.
// The end of Run's context counts as SIGTERM.
func (r *run) signal(s syscall.Signal) {
	switch s {
	case syscall.SIGINT:
		r.end(s, func() {
			switch {
			case r.killed:
			case r.launched() && !r.active():
				r.report.say("interrupted after the ranks have ended")
			case r.launched():
				r.interrupt()
				return
			default:
				r.report.say("interrupted before the ranks ran: the job is ended")
				if r.watched() {
					r.report.say("at that time: %s", r.progress.text())
				}
			}
			r.giveUp(job.ExitINT, 0)
		})
	case syscall.SIGTERM, contextEnded:
		r.end(s, func() {
			r.report.say("told to terminate: the job is ended; once more kills its ranks at once")
			r.giveUp(job.ExitTERM, r.options.Ending.Grace)
		})
	case syscall.SIGHUP:
		r.end(s, func() {
			what := "hung up"
			if r.hadTerminal {
				what = "the terminal is gone"
			}
			r.report.say("%s: the job is ended", what)
			r.giveUp(job.ExitHUP, r.options.Ending.Grace)
		})
	case syscall.SIGTSTP:
		r.passOn(s)
		r.tree.postAfter(stopAfter, stopNow{})
	case syscall.SIGCONT:
		r.resume()
	case syscall.SIGWINCH:
		r.resized()
	case syscall.SIGPIPE: // the write has failed: outputFailed
	default:
		if !r.launched() {
			r.report.say("%v: no rank runs yet that could get it", s)
			return
		}
		r.toRanks(s)
	}
}

// demanded ends the job because the agent of a host got SIGTERM, as if golaunch itself had.
// All agents may get it, and golaunch too: one of them counts, and no further one is
// a demand to hurry.
func (r *run) demanded(host job.HostIndex) {
	switch {
	case r.wider != nil:
		r.demandedNext()
		return
	case r.demands.count > 0:
		return
	}
	r.end(syscall.SIGTERM, func() {
		r.report.say("host %s: its agent was told to terminate, as by a resource manager: the job is ended", r.hostName(host))
		r.giveUp(job.ExitTERM, r.options.Ending.Grace)
	})
}

// demandedNext has the next attempt end, if there is one.
func (r *run) demandedNext() {
	select {
	case r.signals <- syscall.SIGTERM:
	default: // enough wait there
	}
}

// interrupt passes an interrupt on to the ranks.
func (r *run) interrupt() {
	again := fmt.Sprintf("within %v", livedThrough)
	if same := sameFor(syscall.SIGINT); same != sameKey {
		again = fmt.Sprintf("between %v and %v from now", same, livedThrough)
	}
	r.report.say("interrupting the ranks; to kill them, interrupt again %s", again)
	if !r.decided {
		r.decided, r.status = true, job.ExitINT
		r.interrupted = r.demands.last[syscall.SIGINT]
		r.demands.interrupt = r.interrupted
		old := interruptOld{r.demands.interrupt}
		r.tree.postAfter(livedThrough, old)
	}
	r.toRanks(syscall.SIGINT)
}

// interruptOld has the job go on as if it had not been interrupted, if its ranks
// live and nothing else came.
func (r *run) interruptOld(e interruptOld) {
	if !e.came.IsZero() && e.came.Equal(r.demands.interrupt) && r.running() && r.active() && !r.killed && r.verdict.cause() == nil {
		r.demands, r.interrupted = demands{}, time.Time{}
		r.decided, r.status = false, 0
	}
}

// ofInterrupt reports whether an interrupt, which the user knows of, is all that has made
// ranks fail: each has ended after it, by it or in its own way to end.
func (r *run) ofInterrupt() bool {
	return !r.interrupted.IsZero() && !slices.ContainsFunc(r.verdict.kept, func(h *heard) bool {
		switch h.Class {
		case job.CauseExit, job.CauseAbort, job.CauseNoFinalize:
			return h.at.Before(r.interrupted)
		case job.CauseSignal:
			return h.at.Before(r.interrupted) || syscall.Signal(h.Signal) != syscall.SIGINT
		}
		return true
	})
}

// launched reports whether the ranks run, or will within moments: what they
// need is on its way.
func (r *run) launched() bool { return r.worlds[0] != nil && !r.staging.sending }

// toRanks passes a signal on to the ranks of a job that was launched, each of
// which gets it: what comes before all of them run is kept until they do.
func (r *run) toRanks(s syscall.Signal) {
	switch {
	case r.running():
		r.passOn(s)
	case !slices.Contains(r.early, s):
		r.early = append(r.early, s)
	}
}

// stopSelf stops the ranks, announces silence to the tree, and stops this process.
// What follows SIGCONT is resume's.
func (r *run) stopSelf() {
	r.passOn(syscall.SIGSTOP)
	if err := r.tree.subtree.Suspend(true); err != nil {
		return // the loss of the link ends the job
	}
	r.suspended = true
	r.report.status.erase()
	r.terminal.leave()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// resume has the ranks run again.
func (r *run) resume() {
	if r.suspended {
		r.suspended = false
		_ = r.tree.subtree.Suspend(false) // a lost link shows as EdgeEnded
	}
	r.passOn(syscall.SIGCONT)
	r.terminal.leave() // a shell has changed it meanwhile
	if r.running() {
		r.terminal.enter()
		r.resized()
	}
}

// end takes the first, or a further, demand to end the job. What a third leaves
// behind ends by itself: every agent loses its parent.
func (r *run) end(s syscall.Signal, first func()) {
	switch r.demands.next(s, time.Now(), sameFor(s)) {
	case 0:
	case 1:
		first()
	case 2:
		r.report.say("told again: the ranks are killed")
		r.giveUp(job.ExitLauncher, 0) // the status is that of the first demand
	default:
		r.report.say("told a third time: leaving, whatever still runs")
		r.over, r.left = true, true
	}
}

func (r *run) passOn(s syscall.Signal) {
	r.tree.broadcast(link.Control, overlay.KindSignal, overlay.Encode(overlay.Signal{Number: int(s)}))
}
