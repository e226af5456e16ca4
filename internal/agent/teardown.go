package agent

import (
	"context"
	"errors"
	"time"

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
func (a *Agent) endChildren() {
	a.tearDown.Ended()
	children := a.subtree.Edges()
	var ctx context.Context
	ctx, a.tearDown.give = context.WithCancel(context.Background())
	go func() { // ends with the children's time at the latest
		overlay.EndEdges(ctx, children)
		a.inbox.Put(familyEnded{})
	}()
}

// familyEnded waits for the sweeps of children that were lost while they ended.
func (a *Agent) familyEnded() {
	a.alone = true
	by := a.tearDown.Sweeps()
	go func() { // ends at that time at the latest
		a.subtree.Swept(by)
		a.inbox.Put(familySwept{})
	}()
}

// childrenLate cuts those off that owe something still.
func (a *Agent) childrenLate() {
	if a.alone || a.end.Over() || !a.tearDown.Passed() {
		return
	}
	late, moves := map[tree.Slot]overlay.Owed{}, false
	for slot := range a.subtree.Children {
		switch owed := a.owed(slot); {
		case owed == overlay.OwesOutput && a.output.Moving():
			moves = true
		case owed != "":
			late[slot] = owed
		}
	}
	for slot, owed := range late {
		a.cutOff(slot, owed)
	}
	if moves {
		a.tearDown.Later(outputMoves)
	}
	if a.end.Leaving() {
		a.tearDown.give()
	}
}

// owed is what a child owes at the end of the job, "" for nothing.
func (a *Agent) owed(slot tree.Slot) overlay.Owed {
	if a.end.Leaving() {
		return overlay.OwesEnd
	}
	for _, w := range a.worlds {
		if w.done.owed[slot] {
			return overlay.OwesRanks
		}
	}
	switch {
	case a.output.Owes(slot):
		return overlay.OwesOutput
	case a.collection != nil && (a.collection.gather.owed[slot] || a.collection.timed[slot]):
		return overlay.OwesCounters
	}
	return ""
}

// cutOff ends the link to a child that owes something, and tells the user, unless
// somebody below it is named already: it may have waited for that one.
func (a *Agent) cutOff(slot tree.Slot, owed overlay.Owed) {
	if !a.tearDown.excused[slot] {
		a.up(link.Control, overlay.KindNote, overlay.Encode(overlay.Silent(a.subtree.Host(slot), owed)))
	}
	a.subtree.Silence(slot)
	a.childLost(slot, errSilent)
}

var errSilent = errors.New("it was cut off at the end of the job")

// noticeSilence notes whose subtree has somebody in it who was cut off.
func (a *Agent) noticeSilence(m overlay.Message) {
	if n, ok := m.Value.(overlay.Note); ok && n.Silent {
		if a.tearDown.excused == nil {
			a.tearDown.excused = map[tree.Slot]bool{}
		}
		a.tearDown.excused[m.From] = true
	}
}
