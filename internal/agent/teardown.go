package agent

import (
	"context"
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// tearDown is the time that children have to end, and which of them need not be named:
// they had somebody to wait for themselves.
type tearDown struct {
	overlay.Deadline                                  // from END on
	killed           map[job.Number]*overlay.Deadline // of jobs, from when their ranks are to end
	excused          map[tree.Slot]bool
	give             context.CancelFunc // ends the wait for children that were told to end; nil before
}

// childrenLate is the event that this time may be over.
type childrenLate struct{}

// outputMoves is how long output that came, or waits for the parent to take it, excuses
// children that owe some.
const outputMoves = time.Second

// grown notes that the tree has so many levels now.
func (t *tearDown) grown(levels int) {
	t.Grown(levels)
	for _, by := range t.killed {
		by.Grown(levels)
	}
}

// kill notes that all ranks of a job are to be dead after a grace. After END that is no
// earlier than the children's end.
func (t *tearDown) kill(n job.Number, grace time.Duration) {
	if t.Begun() {
		return
	}
	by := t.killed[n]
	if by == nil {
		fresh := t.Deadline
		by = &fresh
		if t.killed == nil {
			t.killed = map[job.Number]*overlay.Deadline{}
		}
		t.killed[n] = by
	}
	by.Killed(grace)
}

// forget lets go of a job.
func (t *tearDown) forget(n job.Number) {
	if by := t.killed[n]; by != nil {
		by.Stop()
		delete(t.killed, n)
	}
}

// ended notes that END was said, while so many jobs were not over. It counts how much of the
// time after their kills is gone, where all were killed.
func (t *tearDown) ended(jobs int) {
	var last *overlay.Deadline
	for _, by := range t.killed {
		by.Stop()
		if last == nil || by.By().After(last.By()) {
			last = by
		}
	}
	if last != nil && len(t.killed) >= jobs {
		t.Deadline = *last
	}
	t.Ended()
}

func (t *tearDown) stop() {
	t.Stop()
	for _, by := range t.killed {
		by.Stop()
	}
	if t.give != nil {
		t.give()
	}
}

// endChildren tells them that the job is over, and has an event come when they have
// ended, or had their time: a node that is lost before that is swept.
func (l *life) endChildren() {
	l.tearDown.ended(len(l.n.jobs.open()))
	children := l.n.subtree.Edges()
	var ctx context.Context
	ctx, l.tearDown.give = context.WithCancel(context.Background())
	go func() { // ends with the children's time at the latest
		overlay.EndEdges(ctx, children)
		l.n.inbox.Put(familyEnded{})
	}()
}

// familyEnded waits for the sweeps of children that were lost while they ended.
func (l *life) familyEnded() {
	l.alone = true
	by := l.tearDown.Sweeps()
	go func() { // ends at that time at the latest
		l.n.subtree.Swept(by)
		l.n.inbox.Put(familySwept{})
	}()
}

// childrenLate cuts those off that owe something still.
func (l *life) childrenLate() {
	if l.alone || l.end.Over() {
		return
	}
	late := map[tree.Slot]overlay.Owed{}
	if l.end.Leaving() {
		if !l.tearDown.Passed() {
			return
		}
		for slot := range l.n.subtree.Children {
			late[slot] = overlay.OwesEnd
		}
	} else {
		for _, j := range l.n.jobs.open() {
			if by := l.tearDown.killed[j.Number()]; by != nil && by.Passed() && l.owed(j, late) {
				by.Later(outputMoves)
			}
		}
	}
	for slot, owed := range late {
		l.cutOff(slot, owed)
	}
	if l.end.Leaving() {
		l.tearDown.give()
	}
}

// owed finds the children that owe something of a job whose ranks are dead. Moves says that
// output is on its way, which excuses those that owe some.
func (l *life) owed(j *jobs.Job, late map[tree.Slot]overlay.Owed) (moves bool) {
	for slot := range l.n.subtree.Children {
		switch owed, moving := j.Owes(slot); {
		case moving:
			moves = true
		case owed != "" && late[slot] == "":
			late[slot] = owed
		}
	}
	return moves
}

// cutOff ends the link to a child that owes something, and tells the user, unless
// somebody below it is named already: it may have waited for that one.
func (l *life) cutOff(slot tree.Slot, owed overlay.Owed) {
	if !l.tearDown.excused[slot] {
		l.n.up(link.Control, overlay.KindNote, job.TreeItself, overlay.Encode(overlay.Silent(l.n.subtree.Host(slot), owed)))
	}
	l.n.subtree.Silence(slot)
	l.n.childLost(slot, errSilent)
}

var errSilent = errors.New("it was cut off at the end of the job")

// noticeSilence notes whose subtree has somebody in it who was cut off.
func (l *life) noticeSilence(m overlay.Message) {
	if n, ok := m.Value.(overlay.Note); ok && n.Silent {
		if l.tearDown.excused == nil {
			l.tearDown.excused = map[tree.Slot]bool{}
		}
		l.tearDown.excused[m.From] = true
	}
}
