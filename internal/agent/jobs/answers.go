package jobs

import "github.com/golaunch/golaunch/tree"

// answers gathers what this node has to say with one answer of each child that owes
// one.
type answers[T any] struct {
	tree.Gather[T]
	owed map[tree.Slot]bool
}

// awaits has a child owe an answer.
func (g *answers[T]) awaits(slot tree.Slot) {
	g.Expect(1)
	if g.owed == nil {
		g.owed = map[tree.Slot]bool{}
	}
	g.owed[slot] = true
}

// take takes a child's answer, which it owes, and reports whether that completed all.
func (g *answers[T]) take(slot tree.Slot, part T) (complete bool) {
	delete(g.owed, slot)
	return g.Add(part)
}

// without stops waiting for a child that is lost, if it owes an answer, and reports
// whether that completed all.
func (g *answers[T]) without(slot tree.Slot) (complete bool) {
	if !g.owed[slot] {
		return false
	}
	delete(g.owed, slot)
	return g.Skip()
}
