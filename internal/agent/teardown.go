package agent

import (
	"context"
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// tearDown is the time that children have to end, and which of them need not be named:
// they had somebody to wait for themselves.
type tearDown struct {
	overlay.Deadline
	excused map[tree.Slot]bool
	give    context.CancelFunc // ends the wait for children that were told to end; nil before
}

// childrenLate is the event that this time may be over.
type childrenLate struct{}

// outputMoves is how long output that came, or waits for the parent to take it, excuses
// children that owe some.
const outputMoves = time.Second

func (t *tearDown) stop() {
	t.Stop()
	if t.give != nil {
		t.give()
	}
}

// endChildren tells them that the job is over, and has an event come when they have
// ended, or had their time: a node that is lost before that is swept.
func (l *life) endChildren() {
	l.tearDown.Ended()
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
	if l.alone || l.end.Over() || !l.tearDown.Passed() {
		return
	}
	late, moves := map[tree.Slot]overlay.Owed{}, false
	for slot := range l.n.subtree.Children {
		switch owed := l.owed(slot); {
		case owed == overlay.OwesOutput && l.n.job.OutputMoves():
			moves = true
		case owed != "":
			late[slot] = owed
		}
	}
	for slot, owed := range late {
		l.cutOff(slot, owed)
	}
	if moves {
		l.tearDown.Later(outputMoves)
	}
	if l.end.Leaving() {
		l.tearDown.give()
	}
}

// owed is what a child owes at the end of the job, "" for nothing.
func (l *life) owed(slot tree.Slot) overlay.Owed {
	if l.end.Leaving() {
		return overlay.OwesEnd
	}
	return l.n.job.Owes(slot)
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
