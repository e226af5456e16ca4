package launcher

import (
	"os"
	"os/signal"
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

// signal acts on a signal to golaunch: the first SIGINT interrupts the ranks,
// the second kills them; SIGTERM and SIGHUP end the job; SIGTSTP stops the ranks
// and golaunch; others are passed on.
func (r *run) signal(s syscall.Signal) {
	switch s {
	case syscall.SIGINT:
		r.interrupt()
	case syscall.SIGTERM:
		r.report.say("told to terminate: the job is ended")
		r.giveUp(job.ExitTERM, r.Grace)
	case syscall.SIGHUP:
		r.report.say("the terminal is gone: the job is ended")
		r.giveUp(job.ExitHUP, r.Grace)
	case syscall.SIGTSTP:
		r.passOn(s)
		time.AfterFunc(stopAfter, func() { r.inbox.Put(stopNow{}) })
	case syscall.SIGCONT:
		r.resume()
	default:
		r.passOn(s)
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
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// resume has the ranks run again.
func (r *run) resume() {
	if r.suspended {
		r.suspended = false
		r.family.Suspend(false) // a lost link shows as EdgeEnded
	}
	r.passOn(syscall.SIGCONT)
}

func (r *run) interrupt() {
	r.tries++
	if r.tries > 1 || !r.clock.has("launch sent") {
		r.giveUp(job.ExitINT, 0)
		return
	}
	r.report.say("interrupting the ranks; interrupt again to kill them")
	r.decided, r.status = true, job.ExitINT
	r.passOn(syscall.SIGINT)
}

func (r *run) passOn(s syscall.Signal) {
	r.family.Broadcast(link.Control, overlay.KindSignal, overlay.Encode(overlay.Signal{Number: int(s)}))
}
