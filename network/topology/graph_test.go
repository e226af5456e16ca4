package topology

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoLeaves has hosts 0 and 1 on switch 0, host 2 on switch 1, and two cables
// between the switches.
func twoLeaves(t *testing.T) *Graph {
	t.Helper()
	b, err := NewBuilder(3, 2)
	require.NoError(t, err)
	b.SetInfo(1, Info{Name: "n001", LID: 7})
	for _, c := range []Cable{
		{A: End{b.Switch(0), 4}, B: End{b.Switch(1), 2}},
		{A: End{b.Switch(0), 3}, B: End{b.Switch(1), 3}},
		{A: End{0, 1}, B: End{b.Switch(0), 1}, Rate: 100e9},
		{A: End{1, 1}, B: End{b.Switch(0), 2}},
		{A: End{b.Switch(1), 1}, B: End{2, 1}},
	} {
		b.Cable(c)
	}
	g, err := b.Build()
	require.NoError(t, err)
	return g
}

func TestGraph(t *testing.T) {
	g := twoLeaves(t)
	assert.Equal(t, []int{3, 2, 5, 5, 10}, []int{g.Hosts(), g.Switches(), g.Nodes(), g.Cables(), g.Links()})
	assert.Equal(t, []string{"h0", "n001", "h2", "s0", "s1"},
		[]string{g.Name(0), g.Name(1), g.Name(2), g.Name(3), g.Name(4)})
	assert.Equal(t, []Port{{Number: 1, PeerNumber: 1, Out: 5}, {Number: 2, Peer: 1, PeerNumber: 1, Out: 7}, {Number: 3, Peer: 4, PeerNumber: 3, Out: 2}, {Number: 4, Peer: 4, PeerNumber: 2}}, g.Ports(3), "by number")
	p, ok := g.Port(4, 2)
	assert.True(t, ok)
	assert.Equal(t, Port{Number: 2, Peer: 3, PeerNumber: 4, Out: 1}, p)
	_, ok = g.Port(4, 9)
	assert.False(t, ok)
	for n := range Node(g.Nodes()) {
		for _, p := range g.Ports(n) {
			assert.Equal(t, End{n, p.Number}, g.From(p.Out))
			assert.Equal(t, End{p.Peer, p.PeerNumber}, g.To(p.Out))
			assert.Equal(t, g.From(p.Out), g.To(p.Out.Reverse()))
		}
	}
	assert.Equal(t, int64(100e9), g.Rate(5))
	assert.Equal(t, Node(4), g.Leaf(2))
	assert.Equal(t, []Node{0, 1, 2}, slices.Collect(g.AllHosts()))
	assert.Equal(t, []Node{3, 4}, slices.Collect(g.AllSwitches()))
	assert.Equal(t, 1, g.SwitchIndex(g.Switch(1)))

	cut := g.Without(func(c int) bool { return c == 0 || c == 3 })
	assert.Equal(t, 3, cut.Cables())
	assert.Equal(t, NoNode, cut.Leaf(1))
	assert.Equal(t, 5, g.Cables(), "the graph itself stays")
}

func TestBuilderRefuses(t *testing.T) {
	for want, cables := range map[string][]Cable{
		"cable 0: node 5: expected 0..4":               {{A: End{5, 1}, B: End{0, 1}}},
		"cable 0: node -1: expected 0..4":              {{A: End{0, 1}, B: End{-1, 1}}},
		"cable 0: port 0: expected 1..1048576":         {{A: End{0, 0}, B: End{3, 1}}},
		"cable 0: both ends are port 1 of one node":    {{A: End{3, 1}, B: End{3, 1}}},
		"cable 1: rate -1 bit/s is negative":           {{A: End{0, 1}, B: End{3, 1}}, {A: End{1, 1}, B: End{3, 2}, Rate: -1}},
		"port 1 of s0 has two cables: to h0 and to h1": {{A: End{0, 1}, B: End{3, 1}}, {A: End{3, 1}, B: End{1, 1}}},
		"port 2 of s0 has two cables: to s0 and to h0": {{A: End{3, 1}, B: End{3, 2}}, {A: End{0, 1}, B: End{3, 2}}},
	} {
		b, err := NewBuilder(3, 2)
		require.NoError(t, err)
		for _, c := range cables {
			b.Cable(c)
		}
		_, err = b.Build()
		assert.EqualError(t, err, want)
	}
	b, err := NewBuilder(2, 0)
	require.NoError(t, err)
	b.SetInfo(0, Info{Name: "a"})
	b.SetInfo(1, Info{Name: "a"})
	_, err = b.Build()
	assert.EqualError(t, err, `host "a" is named twice`)
	_, err = NewBuilder(MaxNodes, 1)
	assert.ErrorContains(t, err, "at most 2097152 of both are supported")
	_, err = NewBuilder(-1, 1)
	assert.Error(t, err)
}
