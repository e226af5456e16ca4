package collective

import (
	"github.com/golaunch/golaunch/tree/record"
)

// The bulletin board runs the world's fences. Here waiters hear that a rank will never
// enter one, which ends it, and all that follow, for them.

// Waiters are servers of ranks that wait in the world's fences.
type Waiters int

// Over the tree they hear of every rank that has left its service and does not use
// PMI; by PMI, of ranks that have ended or are lost, as only these never come back.
const (
	OverTree Waiters = iota
	ByPMI
)

// fences tells from which of the world's fences on none will be complete.
type fences struct {
	why  string // "" if all may be
	from uint64
}

// FencesEnd returns the number of the first fence, from 0, that will not be complete for
// some waiters, and why; "" if all may be.
func (n *Node) FencesEnd(of Waiters) (from uint64, why string) {
	return n.fences[of].from, n.fences[of].why
}

// EndFences says that a local rank will not enter the fence of a number over the tree,
// nor those after it. Everyone learns of it once ranks use the service.
func (n *Node) EndFences(from uint64, why string) {
	if n.endFences(OverTree, from, why) && n.used {
		n.tellFences(OverTree)
	}
}

// EndFencesForAll says that a local rank will not enter a fence by any means. Everyone
// learns of it now.
func (n *Node) EndFencesForAll(from uint64, why string) {
	if n.endFencesForAll(from, why) {
		n.tellFences(ByPMI)
	}
}

// endFences reports whether that is news.
func (n *Node) endFences(of Waiters, from uint64, why string) bool {
	if n.fences[of].why != "" && from >= n.fences[of].from {
		return false
	}
	n.fences[of] = fences{why, from}
	return true
}

// endFencesForAll reports whether that is news for ranks that wait by PMI.
func (n *Node) endFencesForAll(from uint64, why string) bool {
	n.endFences(OverTree, from, why)
	return n.endFences(ByPMI, from, why)
}

func (n *Node) tellFences(of Waiters) {
	n.send2all(&record.Record{Kind: record.NoFence, Fn: uint8(of), Seq: n.fences[of].from, Body: []byte(n.fences[of].why)})
}

// takeFences takes such a record of a neighbor, and reports whether it is news.
func (n *Node) takeFences(r *record.Record) bool {
	if Waiters(r.Fn) == ByPMI {
		return n.endFencesForAll(r.Seq, string(r.Body))
	}
	return n.endFences(OverTree, r.Seq, string(r.Body))
}
