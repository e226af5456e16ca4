package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// sharing returns the pairs of hosts of a network that share a link, by Links.
func sharing(t *testing.T, word string, hosts int) (pairs [][2]int) {
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	nodes := make([]topology.Node, hosts)
	for i := range nodes {
		nodes[i] = topology.Node(i)
	}
	link, err := Links(r, nodes)
	require.NoError(t, err)
	for a := range link {
		for b := range a {
			if link[a] == link[b] {
				pairs = append(pairs, [2]int{b, a})
			}
		}
	}
	return pairs
}

// Hosts share what messages to both come down by; below one switch, or on a network with
// as many links up as down, none do.
func TestLinks(t *testing.T) {
	require.Equal(t, [][2]int{{0, 2}, {3, 5}}, sharing(t, "xgft:3,2/1,2", 6))
	require.Empty(t, sharing(t, "xgft:4,4/1,4", 16))
	require.Empty(t, sharing(t, "xgft:8/1", 8))
	require.Empty(t, sharing(t, "torus:3x3", 9), "a host on each switch")
}

// Hosts without a cable, of which fabrics have some, hide no link.
func TestLinksBesideALooseHost(t *testing.T) {
	b, err := topology.NewBuilder(4, 3)
	require.NoError(t, err)
	for i := range 3 { // two below the first leaf switch, one below the second
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(i + 1), Port: 1}, B: topology.End{Node: b.Switch(i / 2), Port: int32(i + 1)}})
	}
	for i := range 2 {
		b.Cable(topology.Cable{A: topology.End{Node: b.Switch(i), Port: 9}, B: topology.End{Node: b.Switch(2), Port: int32(i + 1)}})
	}
	g, err := b.Build()
	require.NoError(t, err)
	r, err := routing.NewUpDown(g, topology.Serial)
	require.NoError(t, err)
	link, err := Links(r, []topology.Node{1, 2, 3})
	require.NoError(t, err)
	require.Equal(t, link[0], link[1])
	require.NotEqual(t, link[0], link[2])
}
