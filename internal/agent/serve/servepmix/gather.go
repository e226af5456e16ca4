package servepmix

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/tree"
)

// gather is the fences of all processes of a world at one node: up and down the world's
// tree, each with what the nodes give. They are numbered from 0, and complete in that
// order.
//
// Who takes part are the children, by their number, and what is on this node itself: the
// helpers, below 0. Each enters the fences in their order, and may leave, for good: then
// it counts as having entered every further one, with a status.
type gather struct {
	root    bool // of the world's tree
	members []int
	entered map[int]uint32 // fences that a member has entered
	left    map[int]pmix.Status
	gone    bool // the parent was told that all have left

	first    uint32 // the first fence that is not decided
	rounds   []*round
	outcomes map[uint32]pmix.Status // of fences that were decided before a helper has entered

	// What follows: a message to the parent, one to children, and to a helper that waits.
	up     func(gathered)
	down   func(children []int, g gathered)
	answer func(helper int, status pmix.Status, blob []byte)
}

// round is one fence that is not decided.
type round struct {
	votes map[int]vote
	told  bool        // the parent was
	fail  pmix.Status // it is not to be waited for
}

type vote struct {
	status pmix.Status
	blob   []byte
}

// maxRounds bounds how far a child may be ahead.
const maxRounds = 64

func newGather(root bool) *gather {
	return &gather{root: root, entered: map[int]uint32{}, left: map[int]pmix.Status{}, outcomes: map[uint32]pmix.Status{}}
}

// join has one more take part, from the first fence of all: some may be over by then, as
// others have given them up.
func (g *gather) join(member int) {
	g.members = append(g.members, member)
	slices.Sort(g.members)
	g.entered[member] = 0
}

// enter has a helper enter its next fence.
func (g *gather) enter(helper int, blob []byte) (number uint32) {
	number = g.entered[helper]
	g.entered[helper]++
	if number < g.first {
		status, known := g.outcomes[number]
		if !known { // it has left, and nothing was kept for it
			status = g.left[helper]
		}
		g.forgetOutcomes()
		g.answer(helper, status, nil)
		return number
	}
	g.round(number).votes[helper] = vote{pmix.Success, blob}
	g.settle()
	return number
}

// leave has one enter no fence any more. Those that it has not entered end with a status.
func (g *gather) leave(member int, status pmix.Status) {
	_, again := g.left[member]
	if _, in := g.entered[member]; again || !in {
		return
	}
	g.left[member] = status
	g.forgetOutcomes()
	g.settle()
}

// giveUp ends a fence that is not decided with a status.
func (g *gather) giveUp(number uint32, status pmix.Status) {
	if number < g.first || number-g.first >= maxRounds {
		return
	}
	r := g.round(number)
	if r.fail == pmix.Success {
		r.fail = status
		if !g.root {
			g.up(gathered{number: number, status: status, what: gaveUp})
		}
	}
	g.settle()
}

// fromChild takes a message of a child. An error says that it broke the protocol.
func (g *gather) fromChild(child int, m gathered) error {
	switch {
	case m.what == hasLeft:
		g.leave(child, m.status)
		return nil
	case m.what == gaveUp && m.number >= g.first+maxRounds:
		return fmt.Errorf("it gives fence %d up, where fence %d is next", m.number, g.first)
	case m.what == gaveUp:
		g.giveUp(m.number, m.status)
		return nil
	}
	// It may have missed fences that were decided without it.
	if n := g.entered[child]; m.number < n || m.number > max(n, g.first) || m.number >= g.first+maxRounds {
		return fmt.Errorf("it enters fence %d, where fence %d is next", m.number, n)
	}
	g.entered[child] = m.number + 1
	if m.number >= g.first {
		g.round(m.number).votes[child] = vote{m.status, m.blob}
		g.settle()
	}
	return nil
}

// fromParent takes the end of a fence.
func (g *gather) fromParent(m gathered) error {
	if g.root || m.number != g.first || m.what != enters {
		return fmt.Errorf("fence %d has ended, where fence %d is next", m.number, g.first)
	}
	g.decide(m.status, m.blob)
	g.settle()
	return nil
}

// round is that of a fence that is not decided.
func (g *gather) round(number uint32) *round {
	for uint32(len(g.rounds)) <= number-g.first {
		g.rounds = append(g.rounds, &round{votes: map[int]vote{}})
	}
	return g.rounds[number-g.first]
}

// settle tells what is complete.
func (g *gather) settle() {
	for i := 0; i < len(g.rounds); i++ {
		r := g.rounds[i]
		all := g.complete(r)
		switch {
		case g.root && (r.fail != pmix.Success || all):
			if i > 0 {
				return
			}
			status, blob := r.fail, []byte(nil)
			if all && status == pmix.Success {
				status, blob = g.merged(r)
			}
			g.decide(status, blob)
			i--
		case g.root:
			return
		case all && !r.told && len(r.votes) > 0:
			r.told = true
			status, blob := g.merged(r)
			g.up(gathered{number: g.first + uint32(i), status: status, blob: blob})
		}
	}
	if !g.root && !g.gone && len(g.left) == len(g.members) {
		g.gone = true
		status := pmix.Success
		for _, s := range g.left {
			status = worse(status, s)
		}
		g.up(gathered{status: status, what: hasLeft})
	}
}

// complete tells whether all have entered.
func (g *gather) complete(r *round) bool {
	for _, m := range g.members {
		if _, left := g.left[m]; !left {
			if _, in := r.votes[m]; !in {
				return false
			}
		}
	}
	return true
}

// worse is the status of two parts: a failure is kept.
func worse(a, b pmix.Status) pmix.Status { return min(a, b) }

// merged is what the members of a complete fence say together. The blobs are those of
// this node, and of each child.
func (g *gather) merged(r *round) (status pmix.Status, blob []byte) {
	size := 0
	for _, v := range r.votes {
		status = worse(status, v.status)
		size += len(v.blob)
	}
	for m, s := range g.left {
		if _, in := r.votes[m]; !in {
			status = worse(status, s)
		}
	}
	if status == pmix.Success && size > maxBlob {
		status = pmix.OutOfResource
	}
	if status != pmix.Success {
		return status, nil
	}
	for _, m := range g.members {
		blob = append(blob, r.votes[m].blob...)
	}
	return status, blob
}

// decide ends the first fence.
func (g *gather) decide(status pmix.Status, blob []byte) {
	var r *round
	if len(g.rounds) > 0 {
		r, g.rounds = g.rounds[0], g.rounds[1:]
	} else {
		r = &round{}
	}
	number := g.first
	g.first++
	var children []int
	for _, m := range g.members {
		_, left := g.left[m]
		_, in := r.votes[m]
		switch {
		case m >= 0 && !left:
			children = append(children, m)
		case m < 0 && in:
			g.answer(m, status, blob)
		case m < 0 && !left:
			g.outcomes[number] = status
		}
	}
	g.down(children, gathered{number: number, status: status, blob: blob})
}

// forgetOutcomes lets go of those that every helper knows.
func (g *gather) forgetOutcomes() {
	for n := range g.outcomes {
		wanted := false
		for _, m := range g.members {
			_, left := g.left[m]
			wanted = wanted || m < 0 && !left && g.entered[m] <= n
		}
		if !wanted {
			delete(g.outcomes, n)
		}
	}
}

// gathered is a message about a fence. From a child it is what all from there down give;
// from the parent, its end.
type gathered struct {
	number uint32
	status pmix.Status
	what   byte
	blob   []byte
}

// Values of gathered.what.
const (
	enters  = 0
	gaveUp  = 1
	hasLeft = 2
)

const gatheredHead = 9

// maxBlob bounds the blobs of a fence together.
const maxBlob = min(tree.MaxMessage, pmix.MaxFrame) - 1024

func (m gathered) encode() []byte {
	b := make([]byte, 0, gatheredHead+len(m.blob))
	b = binary.LittleEndian.AppendUint32(b, m.number)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.status))
	b = append(b, m.what)
	return append(b, m.blob...)
}

func parseGathered(b []byte) (m gathered, err error) {
	if len(b) < gatheredHead || b[8] > hasLeft {
		return m, fmt.Errorf("%d bytes are no message about a fence", len(b))
	}
	m.number, m.status = binary.LittleEndian.Uint32(b), pmix.Status(int32(binary.LittleEndian.Uint32(b[4:])))
	m.what, m.blob = b[8], b[gatheredHead:]
	return m, nil
}
