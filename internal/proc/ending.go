package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// KillLimit is the time that processes have to die of SIGKILL before the warden reports
// that it cannot end them: ones in uninterruptible sleep, or another user's. The report
// has to come before the node counts as silent (overlay.Common.Patience).
const KillLimit = 2200 * time.Millisecond

// phase is a stage of the end of a job.
type phase uint8

const (
	running     phase = iota
	terminating       // SIGTERM sent, the grace period runs
	killing           // SIGKILL until nothing is left
	gone              // nothing was left; more may be launched
)

// ending is the state of killing a job.
type ending struct {
	phase    phase
	deadline time.Time             // of the grace period, or of killing
	again    time.Time             // when killing looks once more
	rounds   int                   // of killing
	empty    int                   // of these, the last ones, in which nothing of the job was found
	survived error                 // names the processes that could not be ended
	own      map[int]time.Duration // ranks that began to end before they were told to, and when that was seen
	cut      bool                  // killing began since ranks outlived their grace
}

// reap collects every child that has ended: ranks, which are reported, and
// orphans of theirs, which became the warden's.
func (w *warden) reap() {
	w.childless = false
	for {
		pid, status, usage, err := unix.Reap(-1)
		if err != nil {
			w.childless = errors.Is(err, syscall.ECHILD)
			return
		}
		if pid == 0 {
			return
		}
		c, ok := w.live[pid]
		if !ok {
			w.helperEnded(pid, status)
			continue
		}
		if w.jobs[c.job.number] != c.job { // it survived the end of its job, which is forgotten
			delete(w.live, pid)
			continue
		}
		delete(w.live, pid)
		c.job.living--
		j := c.job
		at, own := w.takeEnding(j, pid)
		w.out.add(wireEvent{
			Kind: evExited, Job: j.number, World: c.World, Rank: int(c.Rank), PID: pid, Code: int(status), Text: w.killCause(j, status),
			User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()),
			MaxRSS: usage.Maxrss << 10, // the kernel counts KiB
			At:     time.Now().UnixNano(), Clock: at, Provoked: !own, Cut: j.cut && status.Signaled() && status.Signal() == syscall.SIGKILL,
		})
	}
}

// killCause returns the kernel's reason for killing a rank, or a process of a shell
// that is one; "" if the kernel has not, or the warden kills them itself.
func (w *warden) killCause(j *wardenJob, status syscall.WaitStatus) string {
	const byShell = 128 + int(syscall.SIGKILL) // exit status of a shell of which a process was killed
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == byShell
	switch {
	case j.phase == terminating || j.phase == killing:
		return ""
	case killed:
		return w.memory.explain(time.Now())
	}
	w.memory.look(time.Now()) // a kill that nothing ends of soon explains no later end
	return ""
}

// signal signals the process group of every rank of one of the job's worlds that lives.
func (w *warden) signal(j *wardenJob, world int, sig syscall.Signal) {
	for pid, c := range w.live {
		if c.job == j && (world == everyWorld || c.World == world) {
			_ = syscall.Kill(-pid, sig) // it has ended but was not reaped, or changed its user
		}
	}
}

// hangUp tells ranks that have a terminal that it goes: shells there live through
// SIGTERM, and pass SIGHUP on to the process groups that they have made.
func (w *warden) hangUp(j *wardenJob) {
	for pid, c := range w.live {
		if c.job == j && c.Terminal != nil {
			_ = syscall.Kill(-pid, syscall.SIGHUP) // as in signal
		}
	}
}

// noteEnding notes which ranks are about to end by themselves. Ends go by
// degrees: a peer on another node may have seen a rank's connections close, and
// the job's end have come back from there, before the rank can be reaped.
func (w *warden) noteEnding(j *wardenJob) {
	w.reap()
	j.own = map[int]time.Duration{}
	for pid, c := range w.live {
		if c.job == j && isEnding(pid) {
			j.own[pid] = unix.Monotonic()
		}
	}
}

// takeEnding tells of a rank that was reaped when it ended, and whether it did
// so by itself.
func (w *warden) takeEnding(j *wardenJob, pid int) (at time.Duration, own bool) {
	at = w.marks.take(pid)
	if seen, own := j.own[pid]; own {
		delete(j.own, pid)
		return min(at, seen), true
	}
	return at, j.phase == running || j.phase == gone
}

// kill begins to end a job; ranks that wait for their turn are not started.
// A second kill can only shorten the grace period.
func (w *warden) kill(j *wardenJob, grace time.Duration) {
	if j.phase == running || j.phase == gone {
		w.noteEnding(j)
	}
	w.cancelQueue(j)
	w.cancelHelpers(j)
	w.ownFiles()
	now := time.Now()
	switch {
	case j.phase == killing:
	case grace > 0 && j.living > 0:
		if until := now.Add(grace); j.phase != terminating || until.Before(j.deadline) {
			j.deadline = until
		}
		if j.phase != terminating {
			j.phase = terminating
			w.signal(j, everyWorld, syscall.SIGTERM)
			w.hangUp(j)
			w.signal(j, everyWorld, syscall.SIGCONT) // a stopped rank could not obey
		}
	default:
		j.startKilling(now)
	}
}

// finish ends what is left of all jobs at once, and then the warden.
func (w *warden) finish() {
	w.final = true
	for _, j := range w.order {
		w.kill(j, 0)
	}
}

func (n *ending) startKilling(now time.Time) {
	n.phase, n.deadline, n.again, n.rounds, n.empty = killing, now.Add(KillLimit), now, 0, 0
}

// cancelQueue reports the job's ranks that wait as not started.
func (w *warden) cancelQueue(j *wardenJob) {
	for j.spawnable() {
		c, _, err := j.next()
		if err != nil {
			j.current, j.queue = nil, j.queue[1:]
			continue
		}
		w.out.add(wireEvent{
			Kind: evStartFailed, Job: j.number, World: c.World, Rank: int(c.Rank), Code: job.ExitLauncher,
			Text: "not started: the job was ended first", Provoked: true,
		})
		j.taken()
	}
}

// stepEndings takes killing further: of jobs, and in the end of processes that none of them
// was known to have.
func (w *warden) stepEndings() {
	over := true
	var survived error
	for _, j := range w.order {
		w.stepEnding(j)
		over = over && j.phase == gone
		survived = errors.Join(survived, j.survived)
	}
	switch {
	case !w.final || !over || w.tree.phase == gone:
		return
	case survived != nil: // and was told; others' orphans have one round
		w.tree.rounds = 1
		_ = w.killRound(w.tree)
		w.tree.phase, w.tree.survived = gone, survived
		w.out.add(wireEvent{Kind: evGone, Job: w.tree.number})
		return
	case w.tree.phase == running:
		w.tree.startKilling(time.Now())
	}
	w.stepEnding(w.tree)
}

// stepEnding takes killing a job further. It relies on reap just having been called:
// when no child is left, there is no descendant either, because orphans of a
// subreaper's descendants are its children.
func (w *warden) stepEnding(j *wardenJob) {
	now := time.Now()
	if j.phase == terminating {
		if j.living == 0 || !now.Before(j.deadline) {
			j.startKilling(now)
			j.cut = j.living > 0
		}
	}
	if j.phase != killing {
		return
	}
	switch {
	case w.childless:
		w.gone(j, nil)
	case !now.Before(j.again):
		survived := w.killRound(j)
		j.rounds++
		j.again = now.Add(sweepPause)
		if w.childless || j.empty > 1 {
			w.gone(j, nil)
		} else if now.After(j.deadline) {
			w.gone(j, survived)
		}
	}
}

// killRound kills the job's processes once: every descendant, where no other job is open, else
// those that can be told to be its. Where there is a cgroup, the first round kills that, and the
// next ones what may have left it. The error names what was found.
func (w *warden) killRound(j *wardenJob) error {
	if j.cgroup != nil {
		if err := killCgroup(j.cgroup.dir); err == nil && j.rounds == 0 {
			return nil
		}
	}
	alone := w.alone(j)
	if alone {
		unix.KillChildren(childRounds, nil, func([]int) { w.reap() })
		if w.childless {
			return nil
		}
	}
	all, err := processes()
	if err != nil {
		w.signal(j, everyWorld, syscall.SIGKILL) // without /proc, what is known
		for pid, h := range w.helping {
			if h.job == j {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it has ended but was not reaped
			}
		}
		return err
	}
	var found map[int]bool
	if alone {
		found = descendants(all, os.Getpid(), nil)
		for _, p := range all {
			if p.dead {
				delete(found, p.pid)
			}
		}
	} else if found = w.claimed(j, all); len(found) == 0 && j.living == 0 && !j.cgroup.populated() {
		j.empty++
		return nil
	}
	j.empty = 0
	killAll(all, found)
	return fmt.Errorf("still running after SIGKILL: %s (a hanging device or file system, much memory that is being freed, or another user's process)", pidList(found))
}

// gone reports the end of killing.
func (w *warden) gone(j *wardenJob, survived error) {
	j.phase, j.survived, j.cut = gone, survived, false
	switch {
	case survived != nil:
		j.cgroupFD = -1 // it stays, for a further kill; new ranks are tracked by descent
	case j.closing:
	case w.final:
		w.dropCgroup(j)
	case j.rounds > 0: // one that was killed cannot be used again: a fork into it is killed, too (seen with Linux 6.18)
		w.dropCgroup(j)
		w.makeCgroup(j)
	}
	e := wireEvent{Kind: evGone, Job: j.number}
	if survived != nil {
		e.Text = survived.Error()
	}
	w.out.add(e)
	if j.closing {
		w.forget(j)
	}
}

// patienceOfAll returns the time that the loop may wait for an event: none where the end has
// yet to begin, as an agent may be lost in the middle of a step.
func (w *warden) patienceOfAll() time.Duration {
	timeout := w.tree.patience()
	if w.final && w.tree.phase == running && len(w.order) == 0 {
		timeout = 0
	}
	for _, j := range w.jobs {
		timeout = sooner(timeout, j.patience())
	}
	return timeout
}

func (n *ending) patience() time.Duration {
	switch n.phase {
	case terminating:
		return max(0, time.Until(n.deadline))
	case killing:
		return max(0, time.Until(n.again))
	}
	return -1
}

// finished reports that the warden's work is done.
func (w *warden) finished() bool { return w.final && w.tree.phase == gone }

// survivors returns the error of processes that could not be ended.
func (w *warden) survivors() error { return w.tree.survived }
