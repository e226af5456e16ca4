package proc

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// HelperFD is a helper's end of the stream socket between it and the agent.
const HelperFD = 3

// helperMask is a helper's file mode creation mask: its files are for this user.
const helperMask = 0o077

// Helper is a process of golaunch's own beside the ranks, which serves them. It has
// /dev/null as standard input, one pipe as standard output and error, and HelperFD.
// It is no rank: Signal does not reach it, and Kill does not wait for it. It ends with
// what the job's ranks leave behind, with the job, and with the warden.
type Helper struct {
	Number int      // the caller's; handed back in events
	Argv   []string // the file to execute, which is sought nowhere, and arguments
	Env    []string // all of its environment; GOLAUNCH_JOB is added
	Files  uint64   // bound on its open files, where this host allows so many
}

// HelperStarted says that a helper runs. The descriptors belong to the receiver from
// now on, are nonblocking and close-on-exec.
type HelperStarted struct {
	Job            job.Number
	Number, PID    int
	Socket, Output int // the other ends of HelperFD, and of its standard output and error
}

// HelperEnded says that a helper has ended and was reaped, or that it did not start.
type HelperEnded struct {
	Job         job.Number
	Number, PID int // 0 if it did not start
	Status      syscall.WaitStatus
	Text        string // why it did not start, or why the kernel killed it; "" where that is not known
	// Provoked says that the warden has ended it, with what else there was, or was
	// told to before it could start.
	Provoked bool
}

// Of implements Event.
func (e HelperStarted) Of() job.Number { return e.Job }

// Of implements Event.
func (e HelperEnded) Of() job.Number { return e.Job }

// Help has a helper of a job started, before the ranks of any later Launch, and returns at
// once: HelperStarted follows, and later HelperEnded, or only the latter. After a Kill
// it waits for Gone. An error is about the arguments, or ErrLost.
func (w *Warden) Help(n job.Number, h Helper) error {
	if err := h.validate(); err != nil {
		return err
	}
	return w.command(msgHelper, ofJob(n, h.fields))
}

func (h *Helper) validate() error {
	if len(h.Argv) == 0 || h.Argv[0] == "" {
		return fmt.Errorf("helper %d: no program named", h.Number)
	}
	if err := noNUL(fmt.Sprintf("helper %d: arguments", h.Number), h.Argv); err != nil {
		return err
	}
	return noNUL(fmt.Sprintf("helper %d: environment", h.Number), h.Env)
}

func (h *Helper) fields(b *coder) {
	number(b, &h.Number)
	b.strings(&h.Argv)
	b.strings(&h.Env)
	b.unsigned(&h.Files)
}

// helping is a helper that lives.
type helping struct {
	job    *wardenJob
	number int
}

// mayHelp reports that a helper waits for its start and nothing is in its way, as
// mayStart does of ranks, whose stop is not in the way of helpers.
func (w *warden) mayHelp(j *wardenJob) bool {
	return len(j.toHelp) > 0 && w.out.clear() && (j.phase == running || j.phase == gone)
}

// startHelper starts the job's helper that waits first, or reports why not.
func (w *warden) startHelper(j *wardenJob) {
	h := &j.toHelp[0]
	pid, parent, err := w.forkHelper(j, h)
	switch {
	case errors.Is(err, syscall.EMFILE) && w.out.holdsFDs():
		w.out.seal() // it keeps its turn
		return
	case err != nil:
		w.out.add(wireEvent{Kind: evHelperEnded, Job: j.number, Rank: h.Number, Text: programError(h.Argv[0], err).text})
	default:
		w.helping[pid] = helping{j, h.Number}
		w.lead(j, pid)
		w.out.add(wireEvent{Kind: evHelperStarted, Job: j.number, Rank: h.Number, PID: pid}, parent...)
	}
	j.toHelp = j.toHelp[1:]
}

// forkHelper starts a helper. The descriptors are the parent's ends, in the order of
// wireEvent.
func (w *warden) forkHelper(j *wardenJob, h *Helper) (pid int, parent []int, err error) {
	w.ownFiles()                     // the next rank sets its launch's limits and mask again
	_, _ = unix.RaiseNoFile(h.Files) // with less it says so itself
	unix.SetUmask(helperMask)
	mine, its, err := unix.StreamPair()
	if err != nil {
		return 0, nil, err
	}
	defer unix.Close(its)
	out, write, err := unix.Pipe()
	if err != nil {
		unix.Close(mine)
		return 0, nil, err
	}
	defer unix.Close(write)
	env := newEnviron([]string{JobEnv(j.id)}, h.Env)
	env.set(JobEnv(j.id))
	files := []uintptr{uintptr(w.devNull), uintptr(write), uintptr(write), uintptr(its)}
	if pid, err = w.fork(j, h.Argv[0], h.Argv, &syscall.ProcAttr{Env: env.vars, Files: files, Dir: "/"}, &w.out); err != nil {
		unix.Close(mine)
		unix.Close(out)
		return 0, nil, err
	}
	return pid, []int{mine, out}, nil
}

// helperEnded reports the end of a helper, if a process is one.
func (w *warden) helperEnded(pid int, status syscall.WaitStatus) bool {
	h, ok := w.helping[pid]
	if !ok {
		return false
	}
	delete(w.helping, pid)
	if w.jobs[h.job.number] != h.job { // it survived the end of its job, which is forgotten
		return true
	}
	w.out.add(wireEvent{
		Kind: evHelperEnded, Job: h.job.number, Rank: h.number, PID: pid, Code: int(status), Text: w.killCause(h.job, status),
		Provoked: h.job.phase == terminating || h.job.phase == killing,
	})
	return true
}

// cancelHelpers reports the job's helpers that wait as not started.
func (w *warden) cancelHelpers(j *wardenJob) {
	for _, h := range j.toHelp {
		w.out.add(wireEvent{Kind: evHelperEnded, Job: j.number, Rank: h.Number, Text: "not started: the job was ended first", Provoked: true})
	}
	j.toHelp = nil
}
