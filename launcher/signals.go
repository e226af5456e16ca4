package launcher

import (
	"os"
	"syscall"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
)

// handled are the signals that golaunch takes for the whole job.
var handled = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP,
	syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// signal acts on a signal to golaunch: the first SIGINT interrupts the ranks,
// the second kills them; SIGTERM and SIGHUP end the job; others are passed on.
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
	default:
		r.passOn(s)
	}
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
