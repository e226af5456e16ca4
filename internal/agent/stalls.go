package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// stalls is what this agent knows of ranks that wait over the tree for long. Until
// some do it looks at its own, now and then, and sends nothing.
type stalls struct {
	looking bool
	ages    map[waiting]int // looks that have found it
	all     bool            // all local ranks have waited for messages for long
	poked   bool            // the launcher was told, and has not asked yet

	attempts map[attempt]int // looks that have found it

	number int // of the launcher's question
	gather answers[overlay.Waits]
}

// waiting names what ranks wait in, or for which message which rank waits.
type waiting struct {
	id      overlay.WaitID
	missing int // local ranks that have not entered it: where more do, it is no stall
	message bool
	rank    int
	text    string
}

// looksToStall is how many looks there are in the time that makes a stall.
const looksToStall = 4

// stallDue is the event of the time for a look.
type stallDue struct{}

// lookForStalls looks from now on, as long as ranks use the service or wait in a fence.
func (a *Agent) lookForStalls() {
	if s := &a.stalls; !s.looking && a.common.StallAfter > 0 {
		s.looking = true
		time.AfterFunc(max(a.common.StallAfter/looksToStall, time.Millisecond), func() { a.inbox.Put(stallDue{}) })
	}
}

// look counts for how long ranks have waited in what they wait in now.
func (a *Agent) look() {
	s := &a.stalls
	s.looking = false
	waits := a.waits()
	connects := a.mayConnect()
	if a.end.Killed() || a.end.Leaving() || !a.treeInUse() && len(waits) == 0 && !connects {
		s.ages = nil
		return
	}
	a.lookForStalls()
	if a.stopped { // that is no stall
		return
	}
	if connects {
		a.lookForAttempts()
	}
	ages, messages, due, dueMessages := map[waiting]int{}, 0, false, false
	for _, w := range waits {
		ages[w] = s.ages[w] + 1
		reached := ages[w] == looksToStall+1
		switch {
		case !w.message:
			if due = due || reached; reached && !w.id.Fence && !w.id.Init {
				a.worlds[w.id.World].tree.Doubt(w.id.Comm, w.id.Seq)
			}
		case ages[w] > looksToStall:
			messages++
			dueMessages = dueMessages || reached
		}
	}
	s.ages = ages
	all := messages > 0 && messages == a.end.Living()
	if due || all && (dueMessages || !s.all) {
		a.stalled()
	}
	s.all = all
}

// treeInUse tells whether local ranks of some world use the tree's service.
func (a *Agent) treeInUse() bool {
	for _, w := range a.worlds {
		if w.tree != nil && w.tree.InUse() {
			return true
		}
	}
	return false
}

// waits is what local ranks wait in and for.
func (a *Agent) waits() (list []waiting) {
	list = a.initWaits()
	for _, id := range slices.Sorted(maps.Keys(a.worlds)) {
		if w := a.worlds[id]; w.tree != nil {
			list = append(list, w.waits()...)
		}
	}
	return list
}

// waits is what local ranks of one world wait in and for.
func (w *world) waits() (list []waiting) {
	for _, x := range w.tree.Waits(overlay.MostWaits) {
		id := overlay.WaitID{World: w.id, Comm: x.Comm, Seq: x.Seq}
		list = append(list, waiting{id: id, missing: len(w.tree.Missing(x.Comm, x.Seq)), text: w.named(x.Text)})
	}
	list = append(list, w.fenceWaits()...)
	for _, x := range w.tree.MessageWaits() {
		list = append(list, waiting{id: overlay.WaitID{World: w.id, Seq: x.Seq}, message: true, rank: x.Rank})
	}
	return list
}

// named says which world a text is about, if it is not the first.
func (w *world) named(text string) string {
	if w.id == 0 {
		return text
	}
	return fmt.Sprintf("world %d: %s", w.id, text)
}

// stalled tells the launcher that ranks here or below have waited for long. It is
// told once, until it asks.
func (a *Agent) stalled() {
	if !a.stalls.poked {
		a.stalls.poked = true
		a.up(link.Control, overlay.KindStalled, nil)
	}
}

// askWaits answers what the launcher asks, with what is below.
func (a *Agent) askWaits(q overlay.WaitQuestion) {
	s := &a.stalls
	s.poked = false
	s.number, s.gather = q.Number, answers[overlay.Waits]{}
	s.gather.Merge = (*overlay.Waits).Merge
	s.gather.Expect(1)
	for slot := range a.subtree.Children {
		if !a.states.mute[slot] {
			s.gather.awaits(slot)
		}
	}
	if q.Now && len(q.Of) == 0 {
		a.askStates(q)
		return
	}
	a.waitsIf(s.gather.Add(a.ownWaits(q)))
}

func (a *Agent) ownWaits(q overlay.WaitQuestion) overlay.Waits {
	var own overlay.Waits
	for _, id := range q.Of {
		own.Waits = append(own.Waits, a.outOf(id))
	}
	if len(q.Of) > 0 {
		return own
	}
	own.Living = a.end.Living()
	a.ownAttempts(&own, q.Now)
	for _, x := range a.waits() {
		switch {
		case !q.Now && a.stalls.ages[x] <= looksToStall:
		case !x.message && len(own.Waits) == overlay.MostWaits:
		case !x.message:
			own.Waits = append(own.Waits, overlay.Wait{ID: x.id, Text: overlay.CutWait(x.text)})
		default:
			if own.Messages++; len(own.Examples) < overlay.MostExamples {
				w := a.worlds[x.id.World]
				own.Examples = append(own.Examples, overlay.CutWait(w.named(w.tree.MessageText(x.rank))))
			}
		}
	}
	return own
}

// outOf tells which local ranks have not entered what others wait in.
func (a *Agent) outOf(id overlay.WaitID) overlay.Wait {
	w := a.worlds[id.World]
	switch {
	case id.Init:
		return a.outOfInit(id)
	case w == nil || w.tree == nil:
		return overlay.Wait{ID: id}
	case id.Fence:
		return w.outOfFence(id)
	}
	return overlay.Wait{ID: id, Missing: overlay.AppendWaitRuns(nil, w.tree.Missing(id.Comm, id.Seq))}
}

// childWaits takes a child's answer. One to an older question is of no interest.
func (a *Agent) childWaits(slot tree.Slot, w overlay.Waits) error {
	switch s := &a.stalls; {
	case w.Number > s.number:
		return errors.New("an answer to what nobody asked")
	case w.Number == s.number && s.gather.owed[slot]:
		a.waitsIf(s.gather.take(slot, w))
	}
	return nil
}

// skipWaits does without the answer of a child that was lost.
func (a *Agent) skipWaits(slot tree.Slot) { a.waitsIf(a.stalls.gather.without(slot)) }

func (a *Agent) waitsIf(complete bool) {
	if complete {
		all := a.stalls.gather.Value()
		all.Number = a.stalls.number
		a.up(link.Control, overlay.KindWaits, overlay.Encode(all))
	}
}
