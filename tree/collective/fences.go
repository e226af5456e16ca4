package collective

import (
	"github.com/golaunch/golaunch/tree/record"
)

// The world's fences are the bulletin board's business. What is told here is that a
// rank will never enter one, which ends it, and all that follow, for those who wait.

// fences tells from which of the world's fences on none will be complete.
type fences struct {
	why  string // "" if all may be
	from uint64
}

// FencesEnd is the number of the first fence, from 0, that will not be complete, and
// why; "" if all may be.
func (n *Node) FencesEnd() (from uint64, why string) { return n.fences.from, n.fences.why }

// EndFences says that a local rank will not enter the fence of a number, nor those
// after it. Everyone learns of it once ranks use the service.
func (n *Node) EndFences(from uint64, why string) {
	if n.endFences(from, why) && n.used {
		n.tellFences()
	}
}

// endFences reports whether that is news.
func (n *Node) endFences(from uint64, why string) bool {
	if n.fences.why != "" && from >= n.fences.from {
		return false
	}
	n.fences = fences{why, from}
	return true
}

func (n *Node) tellFences() {
	n.send2all(&record.Record{Kind: record.NoFence, Seq: n.fences.from, Body: []byte(n.fences.why)})
}
