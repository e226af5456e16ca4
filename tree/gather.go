package tree

// Gather combines one contribution of this node with one of each child into the
// contribution of the subtree, in any order: the upward half of every collective. A
// Barrier is a Gather of nothing followed by a Broadcast. T is the contribution; Merge
// folds part into acc.
//
// Expect and Add may be interleaved, because children join while others have
// already answered; the gather is complete when as many contributions came as
// were expected.
type Gather[T any] struct {
	Merge func(acc *T, part T)

	value   T
	pending int
	begun   bool
	done    bool
}

// Expect says that n more contributions will come (this node's own counts as
// one).
func (g *Gather[T]) Expect(n int) {
	g.pending += n
	g.begun = true
}

// Add folds one contribution in and reports whether it completed the gather;
// it does so exactly once. A contribution beyond those expected is folded in
// and completes nothing.
func (g *Gather[T]) Add(part T) (complete bool) {
	g.Merge(&g.value, part)
	return g.Skip()
}

// Skip counts a contribution that will not come, as from a child that was
// lost, and reports whether that completed the gather.
func (g *Gather[T]) Skip() (complete bool) {
	if g.pending > 0 {
		g.pending--
	}
	if g.done || !g.begun || g.pending > 0 {
		return false
	}
	g.done = true
	return true
}

// Value returns the values gathered so far; complete once Add or Skip said so.
func (g *Gather[T]) Value() T { return g.value }

// Done reports whether the gather is complete.
func (g *Gather[T]) Done() bool { return g.done }
