package proc

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// binder has ranks begin on CPUs of their own. A rank inherits those of the warden's
// one thread: there is no moment at which it runs elsewhere, and ranks that are not
// bound cost nothing.
type binder struct {
	own []int // of the warden; read before the first rank that is bound
}

// onto has the thread run on the CPUs of the rank to be started.
func (b *binder) onto(cpus []int) *startError {
	if cpus == nil {
		return nil
	}
	var err error
	if b.own == nil {
		b.own, err = unix.Affinity(0)
	}
	if err == nil {
		err = unix.SetAffinity(0, cpus)
	}
	if err == nil {
		return nil
	}
	hint := ""
	if errors.Is(err, syscall.EINVAL) {
		hint = "; none of them is online and allowed by the cgroup"
	}
	return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("it cannot be bound to CPUs %s: %v%s", binding.Format(cpus), err, hint)}
}

// back has the thread run where it did before, whether the rank was started or not
// (pid 0). Linux 5.15 and 6.1 may have given a process in a cgroup of its own all CPUs
// of that: such a rank is bound once more.
func (b *binder) back(cpus []int, pid int) (note string) {
	if cpus == nil {
		return ""
	}
	_ = unix.SetAffinity(0, b.own) // the earlier mask; if none of it is allowed now, nothing is better
	if pid == 0 {
		return ""
	}
	now, err := unix.Affinity(pid)
	if err != nil || slices.Equal(now, cpus) || !slices.Equal(now, b.own) {
		return "" // it has ended, or has bound itself
	}
	if err := unix.SetAffinity(pid, cpus); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Sprintf("the process %d runs on CPUs %s and not on %s: %v", pid, binding.Format(now), binding.Format(cpus), err)
	}
	return ""
}
