package tree

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

func TestRouteFindsTheSubtree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "hosts")
		owner := map[job.HostIndex]Slot{} // the naive routing table
		var node Node
		k := Slot(rapid.IntRange(1, 6).Draw(t, "children"))
		below := make([][]job.HostIndex, k)
		for h := range job.HostIndex(n) {
			s := Slot(rapid.IntRange(-1, int(k)-1).Draw(t, "slot")) // -1: dead
			if s >= 0 {
				owner[h] = s
				below[s] = append(below[s], h)
			}
		}
		for s, list := range below {
			require.Equal(t, Slot(s), node.Join())
			node.Cover(Slot(s), rapid.Permutation(list).Draw(t, "order"))
			require.Equal(t, list, node.Below(Slot(s)))
		}
		gone := Slot(rapid.IntRange(0, int(k)-1).Draw(t, "gone"))
		require.True(t, node.Leave(gone))
		require.False(t, node.Leave(gone), "leaves once")
		for h := job.HostIndex(-1); h <= job.HostIndex(n); h++ {
			want, ok := owner[h]
			require.Equal(t, ok && want == gone, node.Gone(h), "host %d", h)
			ok = ok && want != gone
			slot, found := node.Route(h)
			require.Equal(t, ok, found, "host %d", h)
			if ok {
				require.Equal(t, want, slot)
			}
		}
		require.Equal(t, int(k)-1, node.Degree())
		require.NotContains(t, slices.Collect(node.Children), gone)
		some := slices.Sorted(slices.Values(rapid.SliceOfDistinct(rapid.IntRange(0, n), rapid.ID[int]).Draw(t, "some")))
		hosts := make([]job.HostIndex, len(some))
		naive := make([]int, k)
		for i, h := range some {
			hosts[i] = job.HostIndex(h)
			if s, ok := owner[hosts[i]]; ok {
				naive[s]++
			}
		}
		for s, want := range naive {
			require.Equal(t, want, node.Count(Slot(s), hosts))
		}
	})
}

// network is a whole tree in memory: links are FIFO queues that deliver in any
// interleaving.
type network struct {
	nodes  []*simNode
	queues [][]simMessage // two per node: up to its parent, down from it
}

type simNode struct {
	Node
	index, parent int
	slot          Slot
	sum           Gather[[]job.HostIndex]
	released      int
}

type simMessage struct {
	from, to int
	part     []job.HostIndex // upward: a contribution
	release  bool            // downward: the broadcast
}

func grow(n, k int) *network {
	net := &network{}
	var add func(list []job.HostIndex, parent int)
	add = func(list []job.HostIndex, parent int) {
		s := &simNode{index: len(net.nodes), parent: parent}
		s.sum.Merge = func(acc *[]job.HostIndex, part []job.HostIndex) { *acc = append(*acc, part...) }
		s.sum.Expect(1)
		net.nodes = append(net.nodes, s)
		if parent >= 0 {
			p := net.nodes[parent]
			s.slot = p.Join()
			p.Cover(s.slot, list)
			p.sum.Expect(1)
		}
		for _, part := range Split(list[1:], k) {
			add(part, s.index)
		}
	}
	add(hosts(n), -1)
	net.queues = make([][]simMessage, 2*n)
	return net
}

func (net *network) send(m simMessage) {
	q := 2 * m.from
	if m.release {
		q = 2*m.to + 1
	}
	net.queues[q] = append(net.queues[q], m)
}

// enter contributes node i; complete subtrees travel up, and the root
// broadcasts: together a barrier that gathers.
func (net *network) contribute(i int, part []job.HostIndex) {
	s := net.nodes[i]
	if !s.sum.Add(part) {
		return
	}
	if s.parent >= 0 {
		net.send(simMessage{from: i, to: s.parent, part: s.sum.Value()})
		return
	}
	net.release(i)
}

func (net *network) release(i int) {
	s := net.nodes[i]
	s.released++
	for slot := range s.Children {
		net.send(simMessage{from: i, to: int(s.Below(slot)[0]), release: true})
	}
}

func (net *network) run(t *rapid.T) {
	for {
		var ready []int
		for q := range net.queues {
			if len(net.queues[q]) > 0 {
				ready = append(ready, q)
			}
		}
		if len(ready) == 0 {
			return
		}
		q := rapid.SampledFrom(ready).Draw(t, "link")
		m := net.queues[q][0]
		net.queues[q] = net.queues[q][1:]
		if m.release {
			net.release(m.to)
		} else {
			net.contribute(m.to, m.part)
		}
	}
}

func TestGatherBroadcastBarrier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "nodes")
		net := grow(n, rapid.IntRange(1, 8).Draw(t, "degree"))
		entered := rapid.Permutation(hosts(n)).Draw(t, "order of entering")
		for i, h := range entered {
			for _, s := range net.nodes {
				require.Zero(t, s.released, "released after %d of %d entered", i, n)
			}
			net.contribute(int(h), []job.HostIndex{h})
			net.run(t)
		}
		for _, s := range net.nodes {
			require.Equal(t, 1, s.released, "node %d", s.index)
		}
		got := slices.Sorted(slices.Values(net.nodes[0].sum.Value()))
		require.Equal(t, hosts(n), got)
	})
}

func TestGatherCompletesOnceAndWithoutTheLost(t *testing.T) {
	g := Gather[int]{Merge: func(acc *int, part int) { *acc += part }}
	require.False(t, g.Skip(), "nothing was expected yet")
	g.Expect(3)
	require.False(t, g.Add(1))
	require.False(t, g.Skip())
	require.True(t, g.Add(5))
	require.True(t, g.Done())
	require.False(t, g.Add(7), "completes once")
	require.Equal(t, 13, g.Value())
}

// A set holds those whose hosts it all has, whatever hosts are between.
func TestHostsThatASetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 20), func(i int) job.HostIndex { return job.HostIndex(i) }))
		all, part := some.Draw(t, "all"), some.Draw(t, "part")
		want := true
		for _, h := range part {
			want = want && slices.Contains(all, h)
		}
		require.Equal(t, want, MakeHosts(all).Holds(MakeHosts(part)))
	})
	all := MakeHosts([]job.HostIndex{0, 1, 2, 3})
	for _, odd := range []Hosts{{{2, 2}}, {{3, 1}}, {{0, 1}, {1, 2}}, {{2, 3}, {0, 1}}, {{0, 2}, {1, 3}}, {{-1, 1}}, {{0, math.MaxInt}}, {{math.MinInt, math.MaxInt}}} {
		require.False(t, all.Holds(odd), "%v", odd)
	}
}
