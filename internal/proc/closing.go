package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Close ends the warden, which kills the rest of the job first if it was not told to
// Finish, and waits for it. Close itself ends and removes the leftovers of a warden
// that was killed, now or before. Next must not be running, or it returns os.ErrClosed.
func (w *Warden) Close() { w.close(leaveLimit) }

// Destroy kills the warden at once, for one that does not do what it is told:
// Next returns ErrLost, and Sweep has the rest to do.
func (w *Warden) Destroy() { _ = w.proc.Kill() } // it has ended already

func (w *Warden) close(limit time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.more.Signal()
	w.mu.Unlock()
	w.sock.Close() // the warden notices
	w.wake()
	stop := time.AfterFunc(limit, func() { _ = w.proc.Kill() })
	defer stop.Stop()
	w.tasks.Wait()
	w.succeed.Do(w.inherit)
}

// inherit does the remaining work of a warden that was killed, or crashed.
func (w *Warden) inherit() {
	if w.state != nil && (w.state.ExitCode() == 0 || w.state.ExitCode() == leftSome) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), inheritLimit)
	defer cancel()
	// Processes that survive this are left to the agent's parent or the next job.
	_ = Sweep(ctx, SweepOptions{JobID: w.opts.JobID, Cgroup: w.cgroupDir()})
}

// cgroupDir is the cgroup that the warden has told of, or, if it has told
// nothing, may have made.
func (w *Warden) cgroupDir() string {
	if w.greeted {
		return w.cgroup
	}
	own, err := ownCgroup()
	if err != nil {
		return ""
	}
	return filepath.Join(own, cgroupName(w.opts.JobID, w.proc.Pid))
}

// Sweep ends the warden, if it lives, and everything of the job that it left
// behind: members of its cgroup, processes that carry GOLAUNCH_JOB, and all
// descendants of this process but those for which keep, which may be nil,
// returns true (the agent's other children) and theirs. See the function Sweep.
func (w *Warden) Sweep(ctx context.Context, keep func(pid int) bool) error {
	_ = w.proc.Kill()
	select {
	case <-w.ended:
	case <-ctx.Done():
		return fmt.Errorf("warden (pid %d): does not end on SIGKILL: %w", w.proc.Pid, ctx.Err())
	}
	return Sweep(ctx, SweepOptions{JobID: w.opts.JobID, Cgroup: w.cgroupDir(), Descendants: true, Keep: keep})
}

// gaveUp is the exit status of a Go program that cannot go on, mostly because it
// gets no thread or no memory.
const gaveUp = 2

// describeEnd describes the end of the warden, for which it waits a moment.
func (w *Warden) describeEnd() string {
	select {
	case <-w.ended:
	case <-time.After(time.Second): // it closed its socket but lives
		return "it closed its socket"
	}
	switch {
	case w.state == nil:
		return "it ended"
	case w.state.ExitCode() == gaveUp:
		return w.state.String() + " (too few processes or too little memory may be allowed there: ulimit -u, a container's --pids-limit)"
	}
	return w.state.String()
}

// lost returns ErrLost with the end of the warden, also to later callers of Next.
func (w *Warden) lost(cause error) error {
	end := w.describeEnd()
	if cause != nil && !errors.Is(cause, io.EOF) {
		end += ": " + cause.Error()
	}
	err := fmt.Errorf("%w (pid %d): %s", ErrLost, w.proc.Pid, end)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	return err
}
