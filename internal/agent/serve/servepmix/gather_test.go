package servepmix

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/pmix"
)

// fenceTree is a tree of gathers, whose messages travel when the test says so.
type fenceTree struct {
	t     *rapid.T
	nodes []*fenceNode
	wires []*wire
}

type fenceNode struct {
	*gather
	helpers []*fenceHelper
}

// fenceHelper enters fences, and keeps how they have ended.
type fenceHelper struct {
	node     *fenceNode
	member   int
	entered  int
	left     bool
	outcomes []string
	ok       []bool
}

// wire is one direction of a link.
type wire struct {
	queue   [][]byte
	deliver func(gathered) error
}

func (w *wire) send(m gathered) { w.queue = append(w.queue, m.encode()) }

func newFenceTree(t *rapid.T) *fenceTree {
	tree := &fenceTree{t: t}
	for i := range rapid.IntRange(1, 7).Draw(t, "nodes") {
		n := &fenceNode{gather: newGather(i == 0)}
		n.answer, n.down = n.answered, func([]int, gathered) {}
		for h := range rapid.IntRange(0, 2).Draw(t, "helpers") {
			x := &fenceHelper{node: n, member: -2 - h}
			n.helpers = append(n.helpers, x)
			n.join(x.member)
		}
		if i > 0 {
			parent := tree.nodes[rapid.IntRange(0, i-1).Draw(t, "parent")]
			tree.link(parent, n)
		}
		tree.nodes = append(tree.nodes, n)
	}
	for _, n := range tree.nodes { // as Server does where nobody speaks PMIx
		n.join(opening)
	}
	for _, i := range rapid.Permutation(slices.Collect(seq(len(tree.nodes)))).Draw(t, "order") {
		tree.nodes[i].leave(opening, pmix.Success)
	}
	return tree
}

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// link makes n the next child of a parent.
func (tree *fenceTree) link(parent, n *fenceNode) {
	child := 0
	for _, m := range parent.members {
		if m >= child {
			child = m + 1
		}
	}
	parent.join(child)
	up := &wire{deliver: func(m gathered) error { return parent.fromChild(child, m) }}
	down := &wire{deliver: n.fromParent}
	n.up = up.send
	before := parent.down
	parent.down = func(children []int, m gathered) {
		if slices.Contains(children, child) {
			down.send(m)
		}
		before(children, m)
	}
	tree.wires = append(tree.wires, up, down)
}

func (n *fenceNode) answered(member int, status pmix.Status, blob []byte) {
	for _, h := range n.helpers {
		if h.member == member {
			h.outcomes = append(h.outcomes, fmt.Sprintf("%d %s", status, blob))
			h.ok = append(h.ok, status == pmix.Success)
		}
	}
}

// enter has a helper enter its next fence, with a word that only it says.
func (h *fenceHelper) enter(node int) {
	word := fmt.Sprintf("[%d.%d.%d]", node, h.member, h.entered)
	h.entered++
	h.node.gather.enter(h.member, []byte(word))
}

// deliver carries one message.
func (tree *fenceTree) deliver(w *wire) {
	m, err := parseGathered(w.queue[0])
	require.NoError(tree.t, err)
	w.queue = w.queue[1:]
	require.NoError(tree.t, w.deliver(m))
}

func (tree *fenceTree) busy() (busy []*wire) {
	for _, w := range tree.wires {
		if len(w.queue) > 0 {
			busy = append(busy, w)
		}
	}
	return busy
}

// The fences of a world end alike everywhere, whatever is slow: those in which all were
// bring what all have given; one that somebody gives up, or has left, fails.
func TestFencesOverAnyTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := newFenceTree(t)
		var helpers []*fenceHelper
		where := map[*fenceHelper]int{}
		for i, n := range tree.nodes {
			for _, h := range n.helpers {
				helpers = append(helpers, h)
				where[h] = i
			}
		}
		if len(helpers) == 0 {
			return
		}
		gaveUp, leaves := map[int]bool{}, rapid.Bool().Draw(t, "some leave")
		left := false
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			h := rapid.SampledFrom(helpers).Draw(t, "helper")
			waits := h.entered > len(h.outcomes)
			switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
			case action < 4 && !waits && !h.left:
				h.enter(where[h])
			case action == 8 && waits:
				gaveUp[h.entered-1] = true
				h.node.giveUp(uint32(h.entered-1), pmix.Timeout)
			case action == 9 && leaves && !h.left && !waits:
				h.left, left = true, true
				h.node.leave(h.member, pmix.ProcTerminated)
			default:
				if busy := tree.busy(); len(busy) > 0 {
					tree.deliver(rapid.SampledFrom(busy).Draw(t, "wire"))
				}
			}
		}
		for busy := tree.busy(); len(busy) > 0; busy = tree.busy() {
			tree.deliver(rapid.SampledFrom(busy).Draw(t, "last wire"))
		}
		// How each fence has ended, by who knows.
		outcome, most := map[int]string{}, 0
		for _, h := range helpers {
			most = max(most, h.entered)
			for k, text := range h.outcomes {
				if known, ok := outcome[k]; ok {
					require.Equal(t, known, text, "fence %d", k)
				}
				outcome[k] = text
				for _, other := range helpers {
					if h.ok[k] {
						require.Greater(t, other.entered, k, "it was not waited for")
						require.Contains(t, text, fmt.Sprintf("[%d.%d.%d]", where[other], other.member, k))
					}
				}
				require.True(t, h.ok[k] || gaveUp[k] || left, "fence %d failed", k)
			}
		}
		for k := range most { // nobody waits for ever
			all := true
			for _, h := range helpers {
				all = all && (h.entered > k || h.left)
			}
			for _, h := range helpers {
				if all && h.entered > k {
					require.Greater(t, len(h.outcomes), k, "fence %d", k)
				}
			}
		}
		for _, n := range tree.nodes {
			require.LessOrEqual(t, len(n.outcomes), most)
		}
	})
}

// A node may get ready when others have given the first fences up. Its helper hears so, and
// is in step with them then.
func TestHelperThatIsReadyLate(t *testing.T) {
	g := newGather(true)
	var heard []pmix.Status
	g.down, g.answer = func([]int, gathered) {}, func(_ int, status pmix.Status, _ []byte) { heard = append(heard, status) }
	g.join(opening)
	g.join(0)
	for n := range uint32(2) {
		require.NoError(t, g.fromChild(0, gathered{number: n}))
		require.NoError(t, g.fromChild(0, gathered{number: n, status: pmix.Timeout, what: gaveUp}))
	}
	g.join(opening - 1)
	g.leave(opening, pmix.Success)
	for range 2 {
		g.enter(opening-1, nil)
	}
	require.Equal(t, []pmix.Status{pmix.Timeout, pmix.Timeout}, heard)
	require.Empty(t, g.outcomes)
	g.enter(opening-1, nil)
	require.Len(t, heard, 2)
	require.NoError(t, g.fromChild(0, gathered{number: 2}))
	require.Equal(t, pmix.Success, heard[2])

	g.leave(opening-1, pmix.ProcTerminated)
	require.NoError(t, g.fromChild(0, gathered{number: 3}))
	g.enter(opening-1, nil)
	require.Equal(t, pmix.ProcTerminated, heard[3], "who has left is in none")
}

func FuzzGathered(f *testing.F) {
	f.Add(gathered{number: 3, status: pmix.Timeout, what: gaveUp}.encode())
	f.Add(gathered{blob: []byte("blob")}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseGathered(b)
		if err != nil {
			return
		}
		require.Equal(t, b, m.encode())
		for _, root := range []bool{false, true} {
			g := newGather(root)
			g.up, g.down, g.answer = func(gathered) {}, func([]int, gathered) {}, func(int, pmix.Status, []byte) {}
			g.join(0)
			g.join(1)
			_ = g.fromChild(0, m)
			_ = g.fromParent(m)
			require.LessOrEqual(t, len(g.rounds), maxRounds)
		}
	})
}
