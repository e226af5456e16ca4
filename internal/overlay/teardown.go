package overlay

import (
	"time"

	"github.com/golaunch/golaunch/tree"
)

// Times of the tear-down of a job: from its END, or from the moment at which its ranks
// were to be dead. A child that owes something then is cut off.
const (
	// teardownLeast is the time that the lowest agents with children below them give
	// these: longer than a warden takes to name processes that it cannot end.
	teardownLeast = 2700 * time.Millisecond
	// teardownLadder is the further time that the launcher waits. Between lie the
	// agents above, each with longer than its children: so the agent next to a silent
	// one tells of it, and nobody above takes its child, which waits, for silent.
	teardownLadder = 1300 * time.Millisecond
	// teardownSweeps is the time after that in which the remains of cut-off agents may
	// be swept.
	teardownSweeps = time.Second
)

// Patience returns the time that an agent so many links below the launcher, which is at
// 0, gives its children to end.
func (c Common) Patience(level int) time.Duration {
	levels := max(1, c.Levels)
	return teardownLeast + teardownLadder*time.Duration(max(0, levels-level))/time.Duration(levels)
}

// sweepPatience returns the time after its patience that an agent there may wait for
// sweeps, so that the one above it still sees it end.
func (c Common) sweepPatience(level int) time.Duration {
	if level == 0 {
		return teardownSweeps
	}
	return teardownLadder / time.Duration(2*max(1, c.Levels))
}

// Levels counts the links between the launcher, which starts one root, or relays, of
// hosts, and the lowest of these.
func Levels(hosts []HostEntry, degree int, relayed bool) int {
	return levels(hosts, 1, degree, relayed)
}

// levels counts those below an agent that starts so many parts, whose agents start
// degree each.
func levels(hosts []HostEntry, parts, degree int, relayed bool) (deepest int) {
	if parts <= 1 && degree <= 1 && !relayed {
		return len(hosts) // a chain, which is not to be gone down with all that follows at each
	}
	for _, part := range Parts(hosts, parts, relayed) {
		deepest = max(deepest, 1+levels(part[1:], degree, degree, relayed))
	}
	return deepest
}

// Grow has the levels count those of further hosts, which the root starts: an agent with
// children below the lowest that were planned would have no more time than these.
func (c *Common) Grow(hosts []HostEntry) {
	c.Levels = max(c.Levels, 1+levels(hosts, c.Degree, c.Degree, c.Relayed))
}

// Deadline ends the tear-down of a subtree: the zero value while it has not begun. It
// belongs to one event loop.
type Deadline struct {
	common Common
	level  int
	by     time.Time
	timer  *time.Timer
	late   func() // called from the timer's goroutine
}

// NewDeadline returns that of an agent so many links below the launcher. Late is called
// when it has passed, from a goroutine of its own.
func NewDeadline(c Common, level int, late func()) Deadline {
	return Deadline{common: c, level: level, late: late}
}

// Grown notes that the tree has so many levels now. A deadline that is set stays.
func (d *Deadline) Grown(levels int) { d.common.Levels = levels }

// Killed notes that all ranks are to be dead after a grace.
func (d *Deadline) Killed(grace time.Duration) {
	by := time.Now().Add(grace + d.common.Patience(d.level))
	if d.by.IsZero() || by.Before(d.by) {
		d.set(by)
	}
}

// Ended notes that END was said: no grace counts any more. Where much of the time after
// a kill is gone, a quarter of it is given once more.
func (d *Deadline) Ended() {
	now, patience := time.Now(), d.common.Patience(d.level)
	by := now.Add(patience)
	if !d.by.IsZero() && d.by.Before(by) {
		by = d.by
	}
	if least := now.Add(patience / 4); by.Before(least) {
		by = least
	}
	d.set(by)
}

// Later puts the deadline off: the rest is on its way.
func (d *Deadline) Later(by time.Duration) { d.set(time.Now().Add(by)) }

// Passed reports whether it has.
func (d *Deadline) Passed() bool { return !d.by.IsZero() && !time.Now().Before(d.by) }

// Begun reports whether the tear-down has begun.
func (d *Deadline) Begun() bool { return !d.by.IsZero() }

// By returns the deadline.
func (d *Deadline) By() time.Time { return d.by }

// Sweeps returns the time until which the remains of cut-off agents may be swept.
func (d *Deadline) Sweeps() time.Time { return d.by.Add(d.common.sweepPatience(d.level)) }

// Stop stops the clock.
func (d *Deadline) Stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *Deadline) set(by time.Time) {
	d.Stop()
	d.by = by
	if d.late != nil {
		d.timer = time.AfterFunc(time.Until(by), d.late)
	}
}

// Owed is a child's debt at the end of a job.
type Owed string

// The debts of a child.
const (
	OwesRanks    Owed = "that its ranks have ended"
	OwesOutput   Owed = "that all output of its ranks has come"
	OwesCounters Owed = "what it has counted"
	OwesEnd      Owed = "that it ends"
)

// Silent makes the note about the host of an agent that owes something though its time
// is over.
func Silent(host HostEntry, owed Owed) Note {
	return Note{Level: NoteAlways, Host: host.Index, Silent: true, Text: "silent: though the job is over its agent has not said " + string(owed) +
		"; its link was closed, and what it left is killed as far as it can be reached (is the agent there stopped or overloaded, or no agent of golaunch's?)"}
}

// Silence has a child that is about to be cut off for its silence be ended where it is: it
// may be stopped, or not want to.
func (f *Subtree) Silence(slot tree.Slot) {
	if held := f.children[slot].edge.held.Load(); held != nil {
		held.silent.Store(true)
	}
}
