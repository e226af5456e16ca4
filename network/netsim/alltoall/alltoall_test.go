package alltoall

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/routing/tii"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// oversubscribed has leaf switches of 20 hosts with 16 uplinks, of which D-Mod-K
// takes the one with the destination's number mod 16, in a tree of five stages
// [Subramoni 6.3].
const oversubscribed = "fattree:20,18,3/1,16,18/1,1,1"

func network(t require.TestingT, text string, hosts []topology.Node) *netsim.Network {
	g, err := spec.Parse(text)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	n, err := netsim.New(r, hosts)
	require.NoError(t, err)
	return n
}

// perLeaf returns the first hosts of each leaf switch of 20.
func perLeaf(hosts, each int) []topology.Node {
	var list []topology.Node
	for i := range hosts {
		list = append(list, topology.Node(i/each*20+i%each))
	}
	return list
}

func total(t *testing.T, n *netsim.Network, s netsim.Schedule, err error) int64 {
	require.NoError(t, err)
	stages, err := Cost(n, s)
	require.NoError(t, err)
	return Total(stages)
}

func TestOverSubscribedLeaves(t *testing.T) {
	for _, c := range []struct {
		hosts                             int
		xor, pairwise, tacs1, tacs2, most int64 // most: as asked for
		bound                             int64
	}{
		{hosts: 64, xor: 111, pairwise: 94, tacs1: 93, tacs2: 142, most: 96, bound: 88},
		{hosts: 128, xor: 239, pairwise: 222, tacs1: 216, tacs2: 304, most: 222, bound: 216},
		{hosts: 256, xor: 495, pairwise: 478, tacs1: 474, tacs2: 661, most: 495, bound: 472},
	} {
		n := network(t, oversubscribed, perLeaf(c.hosts, 20))
		require.Equal(t, "d-mod-k", n.Router().String())
		require.Equal(t, c.xor, total(t, n, XOR(c.hosts, 1), nil))
		require.Equal(t, c.pairwise, total(t, n, Pairwise(c.hosts, 1), nil))
		s, err := TACS1(n, 1)
		require.Equal(t, c.tacs1, total(t, n, s, err))
		require.LessOrEqual(t, c.tacs1, c.most)
		require.EqualValues(t, c.tacs1, s.Stages, "nobody shares a link")
		s, err = TACS2(n, 2)
		require.Equal(t, c.tacs2, total(t, n, s, err))
		require.Equal(t, c.hosts, s.Stages)
		bound, err := Bound(n)
		require.NoError(t, err)
		require.Equal(t, c.bound, bound)
		s, costs, err := Choose(n)
		require.NoError(t, err)
		require.Equal(t, "tacs1", s.Name)
		require.Equal(t, c.tacs1, Total(costs))
	}
}

func TestWithoutSharedLinksTheDefaultIsKept(t *testing.T) {
	for _, c := range []struct{ hosts, each int }{{64, 8}, {64, 2}, {15, 20}} {
		s, costs, err := Choose(network(t, oversubscribed, perLeaf(c.hosts, c.each)))
		require.NoError(t, err)
		require.Equal(t, Default(c.hosts, 1).Name, s.Name)
		require.EqualValues(t, c.hosts-1, Total(costs))
	}
}

func TestPrintedRule(t *testing.T) {
	g, err := spec.Parse("fattree:2,30/1,1/1,1")
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	known, err := tii.Discover(r, topology.Serial)
	require.NoError(t, err)
	asks := func(hosts []topology.Node) bool {
		j, err := known.Job(hosts)
		require.NoError(t, err)
		return Asks(j, topology.Serial)
	}
	all := slices.Collect(g.AllHosts())
	require.True(t, asks(all[:40]))
	require.False(t, asks(all[:42]), "sparse: 2 of 42 hosts on a leaf switch")
	require.False(t, asks([]topology.Node{0, 2, 4, 6}), "no links are shared")
}

// networks draws a network, and ranks on some of its hosts.
func networks(t *rapid.T) *netsim.Network {
	text := rapid.SampledFrom([]string{
		"fattree:4,3,2/1,2,2/1,1,1", "torus:3x4", "mesh:5x2,hosts=2", "dragonfly:p=2,a=3,h=1,g=4", "fattree:8/1/1",
	}).Draw(t, "network")
	g, err := spec.Parse(text)
	require.NoError(t, err)
	hosts := rapid.SliceOfN(rapid.IntRange(0, g.Hosts()-1), 0, 40).Draw(t, "hosts")
	var order []topology.Node
	for _, h := range hosts {
		order = append(order, topology.Node(h))
	}
	return network(t, text, order)
}

func TestEveryPairIsServedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := networks(t)
		for _, a := range Algorithms() {
			if a.Name == "alltoall/bruck" { // TestBruckMovesBlocks
				continue
			}
			s, err := a.New(n.Ranks(), n, 7)
			require.NoError(t, err)
			require.Equal(t, n.Ranks(), s.Ranks)
			served := make([]int, n.Ranks()*n.Ranks())
			for i := range s.Stages {
				for _, m := range s.Append(nil, i) {
					require.EqualValues(t, 7, m.Size)
					served[int(m.From)*n.Ranks()+int(m.To)]++
				}
			}
			for pair, times := range served {
				want := 1
				if pair/n.Ranks() == pair%n.Ranks() {
					want = 0
				}
				require.Equal(t, want, times, "%s: from %d to %d", a.Name, pair/n.Ranks(), pair%n.Ranks())
			}
		}
	})
}

func TestStagesKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := networks(t)
		share := rapid.IntRange(1, 3).Draw(t, "share")
		hosts, _, err := Hosts(n)
		require.NoError(t, err)
		s, err := TACS1(hosts, share)
		require.NoError(t, err)
		costs, err := Cost(hosts, s)
		require.NoError(t, err)
		for i, c := range costs {
			require.LessOrEqual(t, c, int64(share))
			seen := map[[2]int32]bool{}
			for _, m := range s.Append(nil, i) {
				require.False(t, seen[[2]int32{0, m.From}] || seen[[2]int32{1, m.To}], "rank %d or %d has two messages", m.From, m.To)
				seen[[2]int32{0, m.From}], seen[[2]int32{1, m.To}] = true, true
			}
		}
		s, err = TACS2(hosts, share)
		require.NoError(t, err)
		require.Equal(t, hosts.Ranks(), s.Stages)

		bound, err := Bound(hosts)
		require.NoError(t, err)
		_, costs, err = Choose(hosts)
		require.NoError(t, err)
		require.GreaterOrEqual(t, Total(costs), bound)
		for _, other := range []netsim.Schedule{Default(hosts.Ranks(), 1), Pairwise(hosts.Ranks(), 1)} {
			o, err := Cost(hosts, other)
			require.NoError(t, err)
			require.LessOrEqual(t, Total(costs), Total(o))
		}
	})
}

// A row of P3DFFT has one process of each host, a column those of one host.
func TestRowsAndColumnsHaveAsManyStepsAsProcesses(t *testing.T) {
	row := network(t, oversubscribed, perLeaf(64, 20))
	column := network(t, oversubscribed, make([]topology.Node, 16))
	for _, n := range []*netsim.Network{row, column} {
		s, err := TACS2(n, 2)
		require.NoError(t, err)
		require.Equal(t, n.Ranks(), s.Stages)
	}
}

func TestBruckMovesBlocks(t *testing.T) {
	for ranks := range 40 {
		s := Bruck(ranks, 1)
		// held[r][d] is the source and destination of the block in slot d of rank r.
		held := make([][][2]int, ranks)
		for r := range held {
			for d := range ranks {
				held[r] = append(held[r], [2]int{r, (r + d) % ranks})
			}
		}
		for i := range s.Stages {
			next := make([][][2]int, ranks)
			for r := range held {
				next[r] = slices.Clone(held[r])
			}
			for _, m := range s.Append(nil, i) {
				blocks := bruckBlocks(ranks, i)
				require.EqualValues(t, len(blocks), m.Size)
				for _, d := range blocks {
					next[m.To][d] = held[m.From][d]
				}
			}
			held = next
		}
		for r := range held {
			for d, block := range held[r] {
				require.Equal(t, [2]int{(r - d + ranks) % ranks, r}, block, "%d ranks", ranks)
			}
		}
	}
}

func TestTooManyHosts(t *testing.T) {
	n := network(t, "fattree:50,50/1,1/1,1", slices.Collect(func(yield func(topology.Node) bool) {
		for h := range topology.Node(MaxRanks + 1) {
			if !yield(h) {
				return
			}
		}
	}))
	_, err := TACS1(n, 1)
	require.EqualError(t, err, "2049 hosts: schedules that avoid shared links are for at most 2048")
}
