package jobs

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
	j       *Job
	looking bool
	ages    map[waiting]int // looks that have found it
	all     bool            // all local ranks have waited for messages for long
	poked   bool            // the launcher was told, and has not asked yet

	attempts map[attempt]int // looks that have found it

	number int // of the launcher's question
	gather answers[overlay.Waits]
	states states
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

// begin looks from now on, as long as ranks use the service or wait in a fence.
func (s *stalls) begin() {
	if !s.looking && s.j.node.Common().StallAfter > 0 {
		s.looking = true
		time.AfterFunc(max(s.j.node.Common().StallAfter/looksToStall, time.Millisecond), func() { s.j.node.Post(s.look) })
	}
}

// look counts for how long ranks have waited in what they wait in now.
func (s *stalls) look() {
	s.looking = false
	waits := s.waits()
	connects := s.mayConnect()
	if s.j.end.Killed() || s.j.node.End().Leaving() || !s.treeInUse() && len(waits) == 0 && !connects {
		s.ages = nil
		return
	}
	s.begin()
	if s.j.stopped { // that is no stall
		return
	}
	if connects {
		s.lookForAttempts()
	}
	ages, messages, due, dueMessages := map[waiting]int{}, 0, false, false
	for _, w := range waits {
		ages[w] = s.ages[w] + 1
		reached := ages[w] == looksToStall+1
		switch {
		case !w.message:
			if due = due || reached; reached && !w.id.Fence && !w.id.Init {
				s.j.worlds[w.id.World].servers.tree.Doubt(w.id.Comm, w.id.Seq)
			}
		case ages[w] > looksToStall:
			messages++
			dueMessages = dueMessages || reached
		}
	}
	s.ages = ages
	all := messages > 0 && messages == s.j.end.Living()
	if due || all && (dueMessages || !s.all) {
		s.tell()
	}
	s.all = all
}

// treeInUse tells whether local ranks of some world use the tree's service.
func (s *stalls) treeInUse() bool {
	for _, w := range s.j.worlds {
		if w.servers.tree != nil && w.servers.tree.InUse() {
			return true
		}
	}
	return false
}

// waits is what local ranks wait in and for.
func (s *stalls) waits() (list []waiting) {
	list = s.initWaits()
	for _, id := range slices.Sorted(maps.Keys(s.j.worlds)) {
		if w := s.j.worlds[id]; w.servers.tree != nil {
			list = append(list, w.waits()...)
		}
	}
	return list
}

// waits is what local ranks of one world wait in and for.
func (w *world) waits() (list []waiting) {
	for _, x := range w.servers.tree.Waits(overlay.MostWaits) {
		id := overlay.WaitID{World: w.id, Comm: x.Comm, Seq: x.Seq}
		list = append(list, waiting{id: id, missing: len(w.servers.tree.Missing(x.Comm, x.Seq)), text: w.named(x.Text)})
	}
	list = append(list, w.fenceWaits()...)
	for _, x := range w.servers.tree.MessageWaits() {
		list = append(list, waiting{id: overlay.WaitID{World: w.id, Seq: x.Seq}, message: true, rank: x.Rank})
	}
	return list
}

// named says which world a text is about, if that was spawned.
func (w *world) named(text string) string {
	if !w.spawned {
		return text
	}
	return fmt.Sprintf("world %d: %s", w.id, text)
}

// tell tells the launcher that ranks here or below have waited for long. It is
// told once, until it asks.
func (s *stalls) tell() {
	if !s.poked {
		s.poked = true
		s.j.node.Up(link.Control, overlay.KindStalled, nil)
	}
}

// ask answers what the launcher asks, with what is below.
func (s *stalls) ask(q overlay.WaitQuestion) {
	s.poked = false
	s.number, s.gather = q.Number, answers[overlay.Waits]{}
	s.gather.Merge = (*overlay.Waits).Merge
	s.gather.Expect(1)
	for slot := range s.j.node.Subtree().Children {
		if !s.states.mute[slot] {
			s.gather.awaits(slot)
		}
	}
	if q.Now && len(q.Of) == 0 {
		s.askStates(q)
		return
	}
	s.tellIf(s.gather.Add(s.ownWaits(q)))
}

func (s *stalls) ownWaits(q overlay.WaitQuestion) overlay.Waits {
	var own overlay.Waits
	for _, id := range q.Of {
		own.Waits = append(own.Waits, s.outOf(id))
	}
	if len(q.Of) > 0 {
		return own
	}
	own.Living = s.j.end.Living()
	s.ownAttempts(&own, q.Now)
	for _, x := range s.waits() {
		switch {
		case !q.Now && s.ages[x] <= looksToStall:
		case !x.message && len(own.Waits) == overlay.MostWaits:
		case !x.message:
			own.Waits = append(own.Waits, overlay.Wait{ID: x.id, Text: overlay.CutWait(x.text)})
		default:
			if own.Messages++; len(own.Examples) < overlay.MostExamples {
				w := s.j.worlds[x.id.World]
				own.Examples = append(own.Examples, overlay.CutWait(w.named(w.servers.tree.MessageText(x.rank))))
			}
		}
	}
	return own
}

// outOf tells which local ranks have not entered what others wait in.
func (s *stalls) outOf(id overlay.WaitID) overlay.Wait {
	w := s.j.worlds[id.World]
	switch {
	case id.Init:
		return s.outOfInit(id)
	case w == nil || w.servers.tree == nil:
		return overlay.Wait{ID: id}
	case id.Fence:
		return w.outOfFence(id)
	}
	return overlay.Wait{ID: id, Missing: overlay.AppendWaitRuns(nil, w.servers.tree.Missing(id.Comm, id.Seq))}
}

// fromChild takes a child's answer. One to an older question is of no interest.
func (s *stalls) fromChild(slot tree.Slot, w overlay.Waits) error {
	switch {
	case w.Number > s.number:
		return errors.New("an answer to what nobody asked")
	case w.Number == s.number && s.gather.owed[slot]:
		s.tellIf(s.gather.take(slot, w))
	}
	return nil
}

// skip does without the answer of a child that was lost.
func (s *stalls) skip(slot tree.Slot) { s.tellIf(s.gather.without(slot)) }

func (s *stalls) tellIf(complete bool) {
	if complete {
		all := s.gather.Value()
		all.Number = s.number
		s.j.node.Up(link.Control, overlay.KindWaits, overlay.Encode(all))
	}
}
