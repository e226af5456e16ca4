package netsim

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// tree324 is one of the trees of table 3 [Zahavi].
const tree324 = "fattree:18,18/1,9/1,2"

// router is that of a network in one word.
func router(t require.TestingT, word string) routing.Router {
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	return r
}

// inOrder returns a rank on each host, in their order.
func inOrder(t require.TestingT, r routing.Router) *Network {
	n, err := New(r, slices.Collect(r.Graph().AllHosts()))
	require.NoError(t, err)
	return n
}

// shuffled returns a rank on each host, in an order that the seed decides.
func shuffled(t require.TestingT, r routing.Router, seed uint64) *Network {
	order := slices.Collect(r.Graph().AllHosts())
	topology.Shuffle(order, seed)
	n, err := New(r, order)
	require.NoError(t, err)
	return n
}

// order returns the host of each rank.
func order(n *Network) []topology.Node {
	var hosts []topology.Node
	for rank := range int32(n.Ranks()) {
		hosts = append(hosts, n.Host(rank))
	}
	return hosts
}

// schedule has these messages, stage by stage.
func schedule(ranks int, stages ...[]Message) Schedule {
	return Schedule{Name: "test", Ranks: ranks, Stages: len(stages), Append: func(messages []Message, s int) []Message {
		return append(messages, stages[s]...)
	}}
}

// words are networks of each family, with rates that are known or not.
var words = []string{"fattree:4,4/1,2/1,2", "fattree:3,2,2/1,2,1/1,1,2,rate=16G", "torus:3x4,hosts=2", "mesh:2x3,rate=1G", "dragonfly:p=2,a=2,h=1,g=3"}

// drawNetwork draws ranks on hosts, of which some have several.
func drawNetwork(t *rapid.T) *Network {
	r := router(t, rapid.SampledFrom(words).Draw(t, "network"))
	hosts := rapid.SliceOfN(rapid.IntRange(0, r.Graph().Hosts()-1), 1, 20).Draw(t, "hosts")
	order := make([]topology.Node, len(hosts))
	for i, h := range hosts {
		order[i] = topology.Node(h)
	}
	n, err := New(r, order)
	require.NoError(t, err)
	return n
}

// drawMessages draws messages between n ranks; some are empty, or to oneself.
func drawMessages(t *rapid.T, n int, name string) []Message {
	rank := rapid.Int32Range(0, int32(n-1))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Message {
		return Message{rank.Draw(t, "from"), rank.Draw(t, "to"), rapid.SampledFrom([]int64{0, 1, 5, 1000, 1 << 20}).Draw(t, "size")}
	}), 0, 12).Draw(t, name)
}

// drawSchedule draws up to five stages.
func drawSchedule(t *rapid.T, n int, name string) Schedule {
	var stages [][]Message
	for range rapid.IntRange(0, 5).Draw(t, name+" stages") {
		stages = append(stages, drawMessages(t, n, name))
	}
	return schedule(n, stages...)
}
