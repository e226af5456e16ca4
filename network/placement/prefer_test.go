package placement

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
)

// sharingPairs counts the pairs of hosts that share a link above their switch, and the
// switches of these.
func sharingPairs(t require.TestingT, in *Input, hosts []int) (pairs, switches int) {
	links, err := in.links()
	require.NoError(t, err)
	leaves := map[topology.Node]bool{}
	for i, h := range hosts {
		leaves[in.Network.Router.Graph().OnlyLeaf(in.Network.Nodes[h])] = true
		for _, other := range hosts[:i] {
			if links[h] == links[other] {
				pairs++
			}
		}
	}
	return pairs, len(leaves)
}

// Hosts that are preferred are below the fewest switches that have enough, and share
// no link if that is possible: no choice of as many hosts is better.
func TestPreferAgainstAllChoices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputOf(t, "xgft:4,4/1,2", 0, slices.Repeat([]int{1}, 16)...)
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, 15), 4, 9, func(i int) int { return i }).Draw(t, "hosts")
		slices.Sort(some)
		job := *in
		job.Hosts, job.Network = nil, &Network{Router: in.Network.Router}
		slots := rapid.SampledFrom([]int{0, 1}).Draw(t, "slots")
		for _, h := range some {
			in.Hosts[h].Slots = slots
			job.Hosts = append(job.Hosts, in.Hosts[h])
			job.Network.Nodes = append(job.Network.Nodes, topology.Node(h))
		}
		n := rapid.IntRange(1, len(some)).Draw(t, "ranks")
		job.Apps = []int{n}
		avoid := rapid.Bool().Draw(t, "avoid")
		w := Wish{Rule: Topology, AvoidConflicts: avoid}
		if avoid {
			w.Rule = rapid.SampledFrom(Names()[:4]).Draw(t, "rule")
		}
		order, notes := w.Prefer(&job)
		require.Equal(t, len(some), len(slices.Compact(slices.Sorted(slices.Values(order)))))
		require.True(t, slices.IsSorted(order[:n]), "in the order of hosts")
		pairs, switches := sharingPairs(t, &job, order[:n])
		leastPairs, leastSwitches := pairs, switches
		for set := range 1 << len(some) {
			if bits.OnesCount(uint(set)) != n {
				continue
			}
			var hosts []int
			for i := range some {
				if set>>i&1 == 1 {
					hosts = append(hosts, i)
				}
			}
			p, s := sharingPairs(t, &job, hosts)
			switch {
			case !avoid:
				leastSwitches = min(leastSwitches, s)
			case p < leastPairs:
				leastPairs = p
			}
		}
		require.Equal(t, leastPairs, pairs)
		require.Equal(t, leastSwitches, switches)
		require.Equal(t, avoid && pairs > 0 && n < len(some), len(notes) > 0, notes)
	})
}

// Nobody's order changes where all hosts are needed, where their number is open, and
// without a network.
func TestPreferLeavesOrder(t *testing.T) {
	in := inputOf(t, "xgft:4,4/1,2", 16, slices.Repeat([]int{1}, 16)...)
	want, err := inTheirOrder(in)
	require.NoError(t, err)
	check := func(w Wish) {
		order, notes := w.Prefer(in)
		require.Equal(t, want, order)
		require.Empty(t, notes)
	}
	check(Wish{AvoidConflicts: true})
	in.Apps[0] = 17
	in.Oversubscribe = true
	check(Wish{Rule: Node, AvoidConflicts: true})
	in.Apps[0] = 4
	check(Wish{Rule: Node})
	check(Wish{Rule: Switch})
	in.Apps = nil
	check(Wish{AvoidConflicts: true})
	in.Apps, in.Network = []int{4}, nil
	check(Wish{Rule: Comm, Graph: graphOf(t, "cart:4")})
	order, _ := (&Wish{seats: &seats{hosts: []string{"h5", "h2", "h5", "h9"}}, Rule: Seq}).Prefer(in)
	require.Equal(t, []int{2, 5, 9, 0, 1, 3}, order[:6])
}
