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

// stopAfter is the time for ranks to act on SIGTSTP before they are stopped: they lead
// sessions of their own, in which the kernel ignores it.
const stopAfter = 100 * time.Millisecond

// stopNow is the event of that time's end.
type stopNow struct{}

const (
	// sameDemand is the time in which further signals of one kind that end the job are the
	// same demand: timeout(1) signals golaunch, and then its whole group.
	sameDemand = time.Second
	// sameKey is that of SIGINT where golaunch gets a terminal's Ctrl-C: users press it
	// twice on purpose. Under timeout(1) golaunch is in the background.
	sameKey = 200 * time.Millisecond
	// livedThrough is the time that ranks go on after an interrupt that was theirs to
	// handle, as a debugger's, before it is forgotten.
	livedThrough = 5 * time.Second
)

// contextEnded stands among the signals for the end of Run's context, which comes
// once and so counts always.
const contextEnded syscall.Signal = 0

// signals are those to golaunch, and their consequences.
type signals struct {
	job      *run
	caught   chan os.Signal   // Run's
	realTime <-chan os.Signal // those of real time; nil before the launch
	early    []syscall.Signal // for ranks, before all of them ran
	demands  demands
	// interrupted is the time of the interrupt by which the job ends, if its ranks have
	// not lived through it.
	interrupted time.Time
	hadTerminal bool // when the job began: a hang-up is its end, then
	suspended   bool // the tree was told that this process is stopped
}

// demands are those to end the job so far.
type demands struct {
	count int
	last  map[syscall.Signal]time.Time // when one of its kind was counted last
	// interrupt is the time of the only one, if it was passed on to ranks, which may live
	// on.
	interrupt time.Time
}

// sameFor returns the time in which further signals are the same demand.
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

// catch begins to take the job's signals. SIGPIPE is among them, as the failed write
// says more: by Go's own handling golaunch would die, and the report with it. Those of
// the terminal's job control never stop golaunch: reading in the background waits (see
// stdinPump), writing goes through. Signals ignored at golaunch's start, as SIGHUP
// under nohup, stay ignored; of SIGTERM Go's runtime does not tell.
func (g *signals) catch() {
	g.hadTerminal = unix.HasTerminal()
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	caught := slices.Clone(handled)
	if g.job.options.Input.PTY {
		caught = append(caught, syscall.SIGWINCH)
	}
	signal.Notify(g.caught, slices.DeleteFunc(caught, signal.Ignored)...)
}

// act acts on a signal to golaunch: the first SIGINT interrupts the ranks, which
// may live through it; SIGTERM and SIGHUP end the job, with time for the ranks to do
// so; a second of these three, whichever it is, kills the ranks, and a third leaves
// at once; SIGTSTP stops the ranks and golaunch; others are passed on to the ranks.
// The end of Run's context counts as SIGTERM.
func (g *signals) act(s syscall.Signal) {
	switch s {
	case syscall.SIGINT:
		g.end(s, func() {
			switch {
			case g.job.killed:
			case g.job.launched() && !g.job.worlds.active():
				g.job.report.Say("interrupted after the ranks have ended")
			case g.job.launched():
				g.interrupt()
				return
			default:
				g.job.report.Say("interrupted before the ranks ran: the job is ended")
				if g.job.watched() {
					g.job.report.Say("at that time: %s", g.job.progress.text())
				}
			}
			g.job.giveUp(job.ExitINT, 0)
		})
	case syscall.SIGTERM, contextEnded:
		g.end(s, func() {
			g.job.report.Say("told to terminate: the job is ended; once more kills its ranks at once")
			g.job.giveUp(job.ExitTERM, g.job.options.Ending.Grace)
		})
	case syscall.SIGHUP:
		g.end(s, func() {
			reason := "hung up"
			if g.hadTerminal {
				reason = "the terminal is gone"
			}
			g.job.report.Say("%s: the job is ended", reason)
			g.job.giveUp(job.ExitHUP, g.job.options.Ending.Grace)
		})
	case syscall.SIGTSTP:
		g.passOn(s)
		g.job.tree.PostAfter(stopAfter, stopNow{})
	case syscall.SIGCONT:
		g.resume()
	case syscall.SIGWINCH:
		g.job.input.resize()
	case syscall.SIGPIPE: // the write has failed: outputFailed
	default:
		if !g.job.launched() {
			g.job.report.Say("%v: no rank runs yet that could get it", s)
			return
		}
		g.toRanks(s)
	}
}

// Demanded ends the job because the agent of a host got SIGTERM, as if golaunch itself had.
// All agents may get it, and golaunch too: one of them counts, and no further one is
// a demand to hurry.
func (r *run) Demanded(host job.HostIndex) {
	switch {
	case r.wider != nil:
		r.DemandedNext()
		return
	case r.signals.demands.count > 0:
		return
	}
	r.signals.end(syscall.SIGTERM, func() {
		r.report.Say("host %s: its agent was told to terminate, as by a resource manager: the job is ended", r.hostName(host))
		r.giveUp(job.ExitTERM, r.options.Ending.Grace)
	})
}

// DemandedNext has the next attempt end, if there is one.
func (r *run) DemandedNext() {
	select {
	case r.signals.caught <- syscall.SIGTERM:
	default: // enough wait there
	}
}

// interrupt passes an interrupt on to the ranks.
func (g *signals) interrupt() {
	again := fmt.Sprintf("within %v", livedThrough)
	if same := sameFor(syscall.SIGINT); same != sameKey {
		again = fmt.Sprintf("between %v and %v from now", same, livedThrough)
	}
	g.job.report.Say("interrupting the ranks; to kill them, interrupt again %s", again)
	if !g.job.decided {
		g.job.decided, g.job.status = true, job.ExitINT
		g.interrupted = g.demands.last[syscall.SIGINT]
		g.demands.interrupt = g.interrupted
		old := interruptOld{g.demands.interrupt}
		g.job.tree.PostAfter(livedThrough, old)
	}
	g.toRanks(syscall.SIGINT)
}

// interruptOld has the job go on as if it had not been interrupted, if its ranks
// live and nothing else came.
func (g *signals) interruptOld(e interruptOld) {
	if !e.came.IsZero() && e.came.Equal(g.demands.interrupt) && g.job.worlds.running() && g.job.worlds.active() && !g.job.killed && g.job.verdict.cause() == nil {
		g.demands, g.interrupted = demands{}, time.Time{}
		g.job.decided, g.job.status = false, 0
	}
}

// explainFailures reports whether an interrupt, which the user knows of, explains all
// failures of ranks: each has ended after it, by it or in its own way to end.
func (g *signals) explainFailures() bool {
	return !g.interrupted.IsZero() && !slices.ContainsFunc(g.job.verdict.kept, func(h *heard) bool {
		switch h.Class {
		case job.CauseExit, job.CauseAbort, job.CauseNoFinalize:
			return h.at.Before(g.interrupted)
		case job.CauseSignal:
			return h.at.Before(g.interrupted) || syscall.Signal(h.Signal) != syscall.SIGINT
		}
		return true
	})
}

// launched reports whether the ranks run, or will within moments: launch message and
// files are on their way.
func (r *run) launched() bool { return r.worlds.launched() && !r.staging.sending }

// toRanks passes a signal on to the ranks of a job that was launched, each of which
// gets it: signals from before all of them run are kept until they do.
func (g *signals) toRanks(s syscall.Signal) {
	switch {
	case g.job.worlds.running():
		g.passOn(s)
	case !slices.Contains(g.early, s):
		g.early = append(g.early, s)
	}
}

// stopSelf stops the ranks, announces silence to the tree, and stops this process.
// SIGCONT calls resume.
func (g *signals) stopSelf() {
	g.passOn(syscall.SIGSTOP)
	if err := g.job.tree.Suspend(true); err != nil {
		return // the loss of the link ends the job
	}
	g.suspended = true
	g.job.report.status.erase()
	g.job.input.terminal.leave()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// resume has the ranks run again.
func (g *signals) resume() {
	if g.suspended {
		g.suspended = false
		_ = g.job.tree.Suspend(false) // a lost link shows as EdgeEnded
	}
	g.passOn(syscall.SIGCONT)
	g.job.input.terminal.leave() // a shell has changed its mode meanwhile
	if g.job.worlds.running() {
		g.job.input.terminal.enter()
		g.job.input.resize()
	}
}

// end takes the first, or a further, demand to end the job. After a third the rest of
// the job ends by itself: every agent loses its parent.
func (g *signals) end(s syscall.Signal, first func()) {
	switch g.demands.next(s, time.Now(), sameFor(s)) {
	case 0:
	case 1:
		first()
	case 2:
		g.job.report.Say("told again: the ranks are killed")
		g.job.giveUp(job.ExitLauncher, 0) // the status is that of the first demand
	default:
		g.job.report.Say("told a third time: leaving, whatever still runs")
		g.job.over, g.job.left = true, true
	}
}

func (g *signals) passOn(s syscall.Signal) {
	g.job.broadcast(link.Control, overlay.KindSignal, overlay.Encode(overlay.Signal{Number: int(s)}))
}
