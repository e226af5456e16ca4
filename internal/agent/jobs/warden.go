package jobs

import (
	"fmt"
	"syscall"

	"github.com/golaunch/golaunch/internal/overlay"
)

// killSignal ends a rank at once.
const killSignal = syscall.SIGKILL

// Bearing reports whether the warden has ranks to start.
func (j *Job) Bearing() bool {
	for _, w := range j.worlds {
		if w.unborn > 0 {
			return true
		}
	}
	return false
}

// Signal passes a signal on to the local ranks. A stop holds for ranks that are
// still to come, too: the launch, which has a stream of its own, may be overtaken.
func (j *Job) Signal(s overlay.Signal) error {
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
		if err := j.node.Warden().Signal(j.number, sig); err != nil {
			j.node.WardenLost(err)
		}
	}
	return nil
}
