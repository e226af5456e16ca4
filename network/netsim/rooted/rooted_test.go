package rooted

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func network(t require.TestingT, g *topology.Graph, hosts []topology.Node) *netsim.Network {
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	n, err := netsim.New(r, hosts)
	require.NoError(t, err)
	return n
}

func parse(t require.TestingT, text string) *topology.Graph {
	g, err := spec.Parse(text)
	require.NoError(t, err)
	return g
}

// twoSwitches are 64 ranks on 4 hosts of one leaf switch and 232 on 29 of another, which
// a third joins by two cables each [Subramoni 3.2]; each host's ranks follow each other,
// or the hosts take turns.
func twoSwitches(t *testing.T, cyclic bool) *netsim.Network {
	b, err := topology.NewBuilder(33, 3)
	require.NoError(t, err)
	for h := range 33 {
		leaf := min(h/4, 1)
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(h), Port: 1}, B: topology.End{Node: b.Switch(leaf), Port: int32(h + 1)}})
	}
	for i := range int32(4) {
		b.Cable(topology.Cable{A: topology.End{Node: b.Switch(int(i / 2)), Port: 100 + i}, B: topology.End{Node: b.Switch(2), Port: i + 1}})
	}
	g, err := b.Build()
	require.NoError(t, err)
	var order []topology.Node
	for round := range 16 {
		for h := range topology.Node(33) {
			if h < 4 || round < 8 {
				order = append(order, h)
			}
		}
	}
	if !cyclic {
		slices.Sort(order)
	}
	require.Len(t, order, 296)
	return network(t, g, order)
}

func TestGatherBetweenTwoSwitches(t *testing.T) {
	const bytes = 1000
	for _, c := range []struct {
		cyclic                           bool
		messages, sent, racked, rackSent int64
	}{
		{messages: 3, sent: 232, racked: 1, rackSent: 232},
		{cyclic: true, messages: 36, sent: 400, racked: 1, rackSent: 232},
	} {
		n := twoSwitches(t, c.cyclic)
		for _, schedule := range []func(*Tree, int64) netsim.Schedule{(*Tree).Gather, (*Tree).Scatter} {
			count := Count(schedule(Binomial(296, 0), bytes), Levels(n), nil)
			require.Equal(t, c.messages, count.Messages[Across])
			require.Equal(t, c.sent*bytes, count.Bytes[Across])
			count = Count(schedule(NewTree(Racks(n), 2), bytes), Levels(n), nil)
			require.Equal(t, c.racked, count.Messages[Across])
			require.Equal(t, c.rackSent*bytes, count.Bytes[Across])
		}
	}
}

func TestModel(t *testing.T) {
	n := twoSwitches(t, false)
	root := Count(Binomial(296, 0).Gather(1), Levels(n), func(m netsim.Message) bool { return m.To == 0 })
	require.Equal(t, [3]int64{4, 2, 3}, root.Messages, "C1 + C2 + C3 = log2 P")
	require.Equal(t, [3]int64{15, 48, 232}, root.Bytes)
	m := Model{Startup: [3]float64{1, 2, 3}, Byte: [3]float64{.1, .2, .3}, Contention: 2}
	require.InDelta(t, 4*1+2*2+2*3*3+.1*15+.2*48+2*.3*232, m.Time(root), 1e-9)
	require.InDelta(t, 2*(3*2+.75*1000*.3), m.Least(4, 1000), 1e-9)
}

// trees draws ranks on hosts of a network, and a root.
func trees(t *rapid.T) (*netsim.Network, int32) {
	g := parse(t, rapid.SampledFrom([]string{"fattree:4,3,2/1,2,2/1,1,1", "torus:3x4", "fattree:3,40/1,2/1,1"}).Draw(t, "network"))
	ranks := rapid.SliceOfN(rapid.IntRange(0, g.Hosts()-1), 1, 80).Draw(t, "hosts")
	var order []topology.Node
	for _, h := range ranks {
		order = append(order, topology.Node(h))
	}
	return network(t, g, order), int32(rapid.IntRange(0, len(order)-1).Draw(t, "root"))
}

// Each rank's block is a bit of its own, so that what is sent twice, or not, shows.
func TestGatherAndScatterMoveTheirBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, root := trees(t)
		for _, tree := range []*Tree{Binomial(n.Ranks(), root), NewTree(From(Racks(n), root), rapid.IntRange(2, 5).Draw(t, "k"))} {
			held := make([]map[int32]bool, n.Ranks())
			for rank := range held {
				held[rank] = map[int32]bool{int32(rank): true}
			}
			gather := tree.Gather(3)
			var carried [][]map[int32]bool
			for i := range gather.Stages {
				carried = append(carried, nil)
				for _, m := range gather.Append(nil, i) {
					require.EqualValues(t, 3*len(held[m.From]), m.Size)
					carried[i] = append(carried[i], held[m.From])
					for block := range held[m.From] {
						require.False(t, held[m.To][block], "rank %d has block %d twice", m.To, block)
						held[m.To][block] = true
					}
					held[m.From] = nil
				}
			}
			require.Len(t, held[root], n.Ranks())

			// Backward, each message takes the blocks that it brought.
			scatter := tree.Scatter(3)
			for i := range scatter.Stages {
				for j, m := range scatter.Append(nil, i) {
					blocks := carried[gather.Stages-1-i][j]
					require.EqualValues(t, 3*len(blocks), m.Size)
					for block := range blocks {
						require.True(t, held[m.From][block])
						delete(held[m.From], block)
					}
					held[m.To] = blocks
				}
			}
			for rank, blocks := range held {
				require.Equal(t, map[int32]bool{int32(rank): true}, blocks)
			}
		}
	})
}

// A rack's blocks leave it in one message.
func TestRacksSendOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, root := trees(t)
		racks := Racks(n)
		count := Count(NewTree(From(racks, root), 2).Gather(1), Levels(n), nil)
		require.EqualValues(t, len(racks)-1, count.Messages[Across])
	})
}

func TestBroadcastReachesEachRankOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, root := trees(t)
		order := rapid.SampledFrom([]Order{DepthFirst, BreadthFirst, LargestFirst}).Draw(t, "order")
		b, err := NewBroadcasts(n, rapid.IntRange(2, 5).Draw(t, "k"), order, Hops)
		require.NoError(t, err)
		tree := b.Tree(root)
		require.Same(t, tree, b.Tree(root), "kept")
		require.Equal(t, root, tree.Root)
		has := make([]bool, n.Ranks())
		has[root] = true
		s := tree.Broadcast(9)
		for i := range s.Stages {
			busy := map[int32]bool{}
			for _, m := range s.Append(nil, i) {
				require.True(t, has[m.From] && !busy[m.From] && !busy[m.To])
				require.False(t, has[m.To])
				busy[m.From], busy[m.To] = true, true
				has[m.To] = true
				require.EqualValues(t, 9, m.Size)
			}
		}
		require.NotContains(t, has, false)
	})
}

func TestPlacesTakeTheNearestHost(t *testing.T) {
	n := network(t, parse(t, "fattree:4,4/1,4/1,1"), []topology.Node{0, 4, 8, 12, 1, 5, 9, 13})
	hops, err := Hops(n)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 3, 1}, []float64{hops(0, 0), hops(0, 1), hops(0, 4)})
	// The binomial tree of 8: place 0 has 4, 2, 1 below it, 4 has 6 and 5, 2 has 3, 6 has 7.
	require.Equal(t, []int32{4, 2, 1, 6, 0, 5, 3, 7}, Place(8, 2, 4, BreadthFirst, hops))
	require.Equal(t, []int32{4, 6, 3, 7, 0, 2, 1, 5}, Place(8, 2, 4, DepthFirst, hops))
	require.Equal(t, []int32{4, 3, 1, 6, 0, 5, 2, 7}, Place(8, 2, 4, LargestFirst, hops))
}

func TestAlgorithmsServeAllRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _ := trees(t)
		for _, a := range Algorithms() {
			s, err := a.New(n.Ranks(), n, 5)
			require.NoError(t, err)
			require.Equal(t, n.Ranks(), s.Ranks)
			messages := 0
			for i := range s.Stages {
				messages += len(s.Append(nil, i))
			}
			require.Equal(t, n.Ranks()-1, messages, a.Name)
		}
	})
	empty := network(t, parse(t, "fattree:4/1/1"), nil)
	for _, a := range Algorithms() {
		s, err := a.New(0, empty, 5)
		require.NoError(t, err)
		require.Zero(t, s.Stages)
	}
}

// Different rates count more than hops: of the hosts below the root's switch and the
// other, the fast one is reached first, and the near one where both are slow.
func TestBroadcastGoesByRates(t *testing.T) {
	for _, c := range []struct {
		rate  int64 // of host 2, on the other switch
		first int32
	}{{8e9, 2}, {16e9, 1}} {
		b, err := topology.NewBuilder(3, 2)
		require.NoError(t, err)
		for h, rate := range []int64{16e9, 8e9, c.rate} {
			if c.rate == 8e9 {
				rate = 8e9
			}
			b.Cable(topology.Cable{A: topology.End{Node: topology.Node(h), Port: 1}, B: topology.End{Node: b.Switch(h / 2), Port: int32(h + 1)}, Rate: rate})
		}
		b.Cable(topology.Cable{A: topology.End{Node: b.Switch(0), Port: 9}, B: topology.End{Node: b.Switch(1), Port: 9}})
		g, err := b.Build()
		require.NoError(t, err)
		for _, a := range Algorithms() {
			if a.Name == "broadcast/largest-first" {
				s, err := a.New(3, network(t, g, []topology.Node{0, 2, 1}), 5)
				require.NoError(t, err)
				require.Equal(t, []netsim.Message{{From: 0, To: c.first, Size: 5}}, s.Append(nil, 0))
			}
		}
	}
}

func TestDurationWaitsForBothEnds(t *testing.T) {
	// Rank 2 gets its message while rank 0 sends another to 1, and then 1 has to wait.
	stages := [][]netsim.Message{{{From: 3, To: 2, Size: 5}, {From: 0, To: 1, Size: 1}}, {{From: 1, To: 2, Size: 2}}}
	s := netsim.Schedule{Ranks: 4, Stages: 2, Append: func(m []netsim.Message, i int) []netsim.Message { return append(m, stages[i]...) }}
	require.InDelta(t, 7, Duration(s, func(m netsim.Message) float64 { return float64(m.Size) }), 0)
}

// Half of 128 hosts have adapters of half the rate. The best that any tree can do is the
// time of 6 messages among the fast ones and that of one to a slow one.
func TestFastHostsFirst(t *testing.T) {
	const bytes = 1 << 20
	b, err := topology.NewBuilder(128, 1)
	require.NoError(t, err)
	for h := range 128 {
		rate := int64(16e9)
		if h >= 64 {
			rate = 8e9
		}
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(h), Port: 1}, B: topology.End{Node: b.Switch(0), Port: int32(h + 1)}, Rate: rate})
	}
	g, err := b.Build()
	require.NoError(t, err)
	n := network(t, g, slices.Collect(g.AllHosts()))
	slow, err := Slowness(n)
	require.NoError(t, err)
	time := func(tree *Tree) float64 {
		return Duration(tree.Broadcast(bytes), func(m netsim.Message) float64 { return Ranger.Of(1) + float64(8*m.Size)*slow(m.From, m.To) })
	}
	aware := map[Order]float64{}
	for _, order := range []Order{DepthFirst, BreadthFirst, LargestFirst} {
		trees, err := NewBroadcasts(n, 2, order, Slowness)
		require.NoError(t, err)
		aware[order] = time(trees.Tree(0))
	}
	fast := Ranger.Of(1) + bytes/2e9
	require.InDelta(t, 6*fast+Ranger.Of(1)+bytes/1e9, aware[LargestFirst], 1e-12)

	blocks := time(Binomial(128, 0)) // the fast half, then the slow one
	require.InDelta(t, 1.75, blocks/aware[LargestFirst], .005)
	require.InDelta(t, 1.27, blocks/aware[BreadthFirst], .005)
	require.InDelta(t, 1.08, blocks/aware[DepthFirst], .005)
}

func TestUnknownRate(t *testing.T) {
	n := network(t, parse(t, "fattree:4/1/1"), []topology.Node{2})
	_, err := Slowness(n)
	require.EqualError(t, err, "the rate of h2 is not known")
}

func TestLatencies(t *testing.T) {
	for hops, want := range map[int]float64{0: .46e-6, 1: 1.57e-6, 3: 2.45e-6, 5: 2.85e-6, 7: 2.85e-6} {
		require.Equal(t, want, Ranger.Of(hops))
	}
}
