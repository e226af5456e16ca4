package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// KillLimit is how long processes may take to die of SIGKILL before the warden
// says that it cannot end them: ones in uninterruptible sleep, or another user's. That
// word has to come before the node counts as silent (overlay.Common.Patience).
const KillLimit = 2200 * time.Millisecond

// phase is how far the end of the job has come.
type phase uint8

const (
	running     phase = iota
	terminating       // SIGTERM sent, the grace period runs
	killing           // SIGKILL until nothing is left
	gone              // nothing was left; more may be launched
)

// ending is the state of killing the job.
type ending struct {
	phase     phase
	deadline  time.Time             // of the grace period, or of killing
	again     time.Time             // when killing looks once more
	rounds    int                   // of killing
	final     bool                  // the warden leaves when the job is gone
	survived  error                 // what could not be ended
	own       map[int]time.Duration // ranks that began to end before they were told to, and when that was seen
	cut       bool                  // killing began since ranks outlived their grace
	childless bool                  // the last wait4 said that no child is left, and none was started since
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
		delete(w.live, pid)
		at, own := w.takeEnding(pid)
		w.out.add(wireEvent{
			Kind: evExited, World: c.World, Rank: int(c.Rank), PID: pid, Code: int(status), Text: w.killer(status),
			User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()),
			MaxRSS: usage.Maxrss << 10, // the kernel counts KiB
			At:     time.Now().UnixNano(), Clock: at, Provoked: !own, Cut: w.cut && status.Signaled() && status.Signal() == syscall.SIGKILL,
		})
	}
}

// killer says why the kernel has killed a rank, or a process of a shell that is
// one, if it has. Whom the warden kills it does not ask about.
func (w *warden) killer(status syscall.WaitStatus) string {
	const byShell = 128 + int(syscall.SIGKILL) // what shells exit with
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL || status.ExitStatus() == byShell
	switch {
	case w.phase == terminating || w.phase == killing:
		return ""
	case killed:
		return w.memory.explain(time.Now())
	}
	w.memory.look(time.Now()) // a kill that nothing ends of soon explains no later end
	return ""
}

// signal signals the process group of every rank of a world that lives.
func (w *warden) signal(world int, sig syscall.Signal) {
	for pid, c := range w.live {
		if world == everyWorld || c.World == world {
			_ = syscall.Kill(-pid, sig) // it has ended but was not reaped, or changed its user
		}
	}
}

// hangUp tells ranks that have a terminal that it goes: shells there live through
// SIGTERM, and pass SIGHUP on to the process groups that they have made.
func (w *warden) hangUp() {
	for pid, c := range w.live {
		if c.Terminal != nil {
			_ = syscall.Kill(-pid, syscall.SIGHUP) // as in signal
		}
	}
}

// noteEnding notes which ranks are about to end by themselves. Ends go by
// degrees: a peer on another node may have seen a rank's connections close, and
// the job's end have come back from there, before the rank can be reaped.
func (w *warden) noteEnding() {
	w.reap()
	w.own = map[int]time.Duration{}
	for pid := range w.live {
		if isEnding(pid) {
			w.own[pid] = unix.Monotonic()
		}
	}
}

// takeEnding tells of a rank that was reaped when it ended, and whether it did
// so by itself.
func (w *warden) takeEnding(pid int) (at time.Duration, own bool) {
	at = w.marks.take(pid)
	if seen, own := w.own[pid]; own {
		delete(w.own, pid)
		return min(at, seen), true
	}
	return at, w.phase == running || w.phase == gone
}

// kill begins to end the job; ranks that wait for their turn are not started.
// A second kill can only shorten the grace period.
func (n *ending) kill(w *warden, grace time.Duration) {
	if n.phase == running || n.phase == gone {
		w.noteEnding()
	}
	w.cancelQueue()
	w.cancelHelpers()
	w.ownFiles()
	now := time.Now()
	switch {
	case n.phase == killing:
	case grace > 0 && len(w.live) > 0:
		if until := now.Add(grace); n.phase != terminating || until.Before(n.deadline) {
			n.deadline = until
		}
		if n.phase != terminating {
			n.phase = terminating
			w.signal(everyWorld, syscall.SIGTERM)
			w.hangUp()
			w.signal(everyWorld, syscall.SIGCONT) // a stopped rank could not obey
		}
	default:
		n.startKilling(now)
	}
}

// finish ends what is left at once, and then the warden.
func (n *ending) finish(w *warden) {
	n.final = true
	n.kill(w, 0)
}

func (n *ending) startKilling(now time.Time) {
	n.phase, n.deadline, n.again, n.rounds = killing, now.Add(KillLimit), now, 0
}

// cancelQueue reports the ranks that wait as not started.
func (w *warden) cancelQueue() {
	for w.spawnable() {
		c, _, err := w.next()
		if err != nil {
			w.current, w.queue = nil, w.queue[1:]
			continue
		}
		w.out.add(wireEvent{
			Kind: evStartFailed, World: c.World, Rank: int(c.Rank), Code: job.ExitLauncher,
			Text: "not started: the job was ended first", Provoked: true,
		})
		w.taken()
	}
}

// stepEnding takes killing further. It relies on reap just having been called:
// when no child is left, there is no descendant either, because orphans of a
// subreaper's descendants are its children.
func (n *ending) stepEnding(w *warden) {
	now := time.Now()
	if n.phase == terminating && (len(w.live) == 0 || !now.Before(n.deadline)) {
		n.startKilling(now)
		n.cut = len(w.live) > 0
	}
	if n.phase != killing {
		return
	}
	switch {
	case w.childless:
		n.gone(w, nil)
	case !now.Before(n.again):
		survived := w.killRound()
		n.rounds++
		n.again = now.Add(sweepPause)
		if w.childless || now.After(n.deadline) {
			n.gone(w, survived)
		}
	}
}

// killRound kills every descendant once. Where there is a cgroup, the first
// round kills that, and the next ones what may have left it. The error names
// what was found.
func (w *warden) killRound() error {
	if w.cgroup != nil {
		if err := killCgroup(w.cgroup.dir); err == nil && w.rounds == 0 {
			return nil
		}
	}
	unix.KillChildren(childRounds, nil, func([]int) { w.reap() })
	if w.childless {
		return nil
	}
	all, err := processes()
	if err != nil {
		w.signal(everyWorld, syscall.SIGKILL) // without /proc, what is known
		for pid := range w.helping {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it has ended but was not reaped
		}
		return err
	}
	found := descendants(all, os.Getpid(), nil)
	for _, p := range all {
		if p.dead {
			delete(found, p.pid)
		}
	}
	killAll(all, found)
	return fmt.Errorf("still running after SIGKILL: %s (a hanging device or file system, much memory that is being freed, or another user's process)", pidList(found))
}

// gone reports the end of killing.
func (n *ending) gone(w *warden, survived error) {
	n.phase, n.survived, n.cut = gone, survived, false
	switch {
	case survived != nil:
		w.cgroupFD = -1 // it stays, for a further kill; new ranks are tracked by descent
	case w.cgroup != nil && (n.final || n.rounds > 0):
		w.renewCgroup(n.final)
	}
	e := wireEvent{Kind: evGone}
	if survived != nil {
		e.Text = survived.Error()
	}
	w.out.add(e)
}

// renewCgroup removes the job's cgroup, which is empty, and makes it anew unless
// this is the end. A cgroup cannot be used again once it was killed: what is
// later forked into it from outside is killed too (seen with Linux 6.18).
func (w *warden) renewCgroup(final bool) {
	dir := w.cgroup.dir
	w.cgroup.close()
	w.cgroup, w.cgroupFD = nil, -1
	err := removeCgroup(dir)
	if err == nil && !final {
		var cg *cgroup
		if cg, err = newCgroup(filepath.Base(dir)); err == nil {
			w.cgroup, w.cgroupFD = cg, cg.fd
		}
	}
	if err != nil {
		w.out.add(wireEvent{Kind: evNote, Text: fmt.Sprintf("the job's cgroup could not be removed or made anew: %v", err)})
	}
}

// patience is how long the loop may wait for an event.
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
func (n *ending) finished() bool { return n.final && n.phase == gone }

// left is what the warden exits with.
func (n *ending) left() error { return n.survived }
