package launcher

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
)

// handled are the signals that golaunch takes for the whole job.
var handled = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP,
	syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGTSTP, syscall.SIGCONT,
}

// stopAfter is how long ranks may take to act on SIGTSTP before they are
// stopped: they lead sessions of their own, in which the kernel ignores it.
const stopAfter = 100 * time.Millisecond

// stopNow is the event of that time's end.
type stopNow struct{}

// catch begins to take the job's signals. Those of the terminal's job control
// never stop golaunch: reading in the background waits (see stdinPump), writing
// goes through.
func (r *run) catch() {
	signal.Ignore(syscall.SIGTTIN, syscall.SIGTTOU)
	signal.Notify(r.signals, handled...)
}

// signal acts on a signal to golaunch: the first SIGINT interrupts the ranks;
// SIGTERM and SIGHUP end the job, with time for the ranks to do so; a second of
// these three, whichever it is, kills the ranks, and a third leaves at once;
// SIGTSTP stops the ranks and golaunch; others are passed on to the ranks.
func (r *run) signal(s syscall.Signal) {
	switch s {
	case syscall.SIGINT:
		r.end(func() {
			switch {
			case r.killed:
			case r.launched():
				r.report.say("interrupting the ranks; interrupt again to kill them")
				r.decided, r.status = true, job.ExitINT
				r.toRanks(syscall.SIGINT)
				return
			default:
				r.report.say("interrupted before the ranks ran: the job is ended")
			}
			r.giveUp(job.ExitINT, 0)
		})
	case syscall.SIGTERM:
		r.end(func() {
			r.report.say("told to terminate: the job is ended; once more kills its ranks at once")
			r.giveUp(job.ExitTERM, r.Grace)
		})
	case syscall.SIGHUP:
		r.end(func() {
			r.report.say("the terminal is gone: the job is ended")
			r.giveUp(job.ExitHUP, r.Grace)
		})
	case syscall.SIGTSTP:
		r.passOn(s)
		time.AfterFunc(stopAfter, func() { r.inbox.Put(stopNow{}) })
	case syscall.SIGCONT:
		r.resume()
	default:
		if !r.launched() {
			r.report.say("%v: no rank runs yet that could get it", s)
			return
		}
		r.toRanks(s)
	}
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
	if err := r.family.Suspend(true); err != nil {
		return // the loss of the link ends the job
	}
	r.suspended = true
	r.report.status.erase()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// resume has the ranks run again.
func (r *run) resume() {
	if r.suspended {
		r.suspended = false
		_ = r.family.Suspend(false) // a lost link shows as EdgeEnded
	}
	r.passOn(syscall.SIGCONT)
}

// end takes the first, or a further, demand to end the job. What a third leaves
// behind ends by itself: every agent loses its parent.
func (r *run) end(first func()) {
	switch r.ends++; r.ends {
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
	r.family.Broadcast(link.Control, overlay.KindSignal, overlay.Encode(overlay.Signal{Number: int(s)}))
}
