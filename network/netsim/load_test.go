package netsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Links have the load that messages put on the links of their routes, and each of the
// links used is named once.
func TestLoadsAreTheMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawNetwork(t)
		g := n.Graph()
		l := NewLoad(n)
		l.Inner = rapid.Bool().Draw(t, "inner")
		for range 2 { // the second time after a reset
			messages := drawMessages(t, n.Ranks(), "messages")
			require.NoError(t, l.Add(messages))
			var want int64
			for _, m := range messages {
				route, err := n.Route(nil, m.From, m.To)
				require.NoError(t, err)
				links := len(route)
				if n.Host(m.From) == n.Host(m.To) {
					require.Zero(t, links)
				} else if l.Inner {
					links -= 2
				}
				want += m.Size * int64(links)
			}
			var sum, used, most int64
			for link := range topology.Link(g.Links()) {
				sum += l.On(link)
				most = max(most, l.On(link))
				if l.Inner && l.On(link) > 0 {
					require.False(t, g.IsHost(g.From(link).Node) || g.IsHost(g.To(link).Node))
				}
			}
			for _, link := range l.Used() {
				require.Positive(t, l.On(link))
				used += l.On(link)
			}
			require.Equal(t, []int64{want, want, most}, []int64{sum, used, l.Max()})
			l.Reset()
			require.Empty(t, l.Used())
		}
	})
}

func TestLoadsOfWrongMessages(t *testing.T) {
	n := inOrder(t, router(t, "fattree:4/1/1"))
	for want, m := range map[string]Message{
		"a message from rank 0 to rank 4, of 4 ranks":  {0, 4, 1},
		"a message from rank -1 to rank 0, of 4 ranks": {-1, 0, 1},
		"a message from rank 1 to rank 0 of -1 bytes":  {1, 0, -1},
	} {
		assert.EqualError(t, NewLoad(n).Add([]Message{m}), want)
	}
	_, err := New(n.Router(), []topology.Node{0, 4})
	assert.EqualError(t, err, "rank 1 is on node 4, which is no host of the network")
}

// The model by hand: two leaf switches with one cable between them and the top.
func TestCost(t *testing.T) {
	n := inOrder(t, router(t, "fattree:2,2/1,1/1,1,rate=8G"))
	s := schedule(4,
		[]Message{{0, 2, 1000}, {1, 3, 500}, {0, 1, 100}, {2, 2, 7}}, // 0 and 1 share the cable upward
		nil,
		[]Message{{0, 1, 0}})
	got, err := Costs{Startup: 1e-3, Rate: 1}.Cost(n, s)
	require.NoError(t, err)
	assert.InDelta(t, 2e-3+1500e-9, got[0].Seconds, 1e-12)
	got[0].Seconds = 0
	assert.Equal(t, []StageCost{
		{Messages: 3, Bytes: 1600, Flows: 2, Most: 1500},
		{},
		{Messages: 1, Flows: 1, Seconds: 1e-3},
	}, got)
	got, err = Costs{Inject: 1e6}.Cost(n, s)
	require.NoError(t, err)
	assert.InDelta(t, 1100e-6, got[0].Seconds, 1e-12, "host 0 sends 1100 bytes")
	_, err = Costs{}.Cost(n, schedule(5))
	assert.EqualError(t, err, "4 ranks are on hosts, of 5 of test")
	_, err = Costs{}.Cost(n, schedule(4, []Message{{0, 9, 1}}))
	assert.EqualError(t, err, "stage 0 of test: a message from rank 0 to rank 9, of 4 ranks")
}

// Package routing counts the same degrees.
func TestFlowsAreDegrees(t *testing.T) {
	r := router(t, "fattree:4,4/1,2/1,2")
	n := shuffled(t, r, 3)
	for _, q := range routing.Sequences(n.Ranks()) {
		want, err := routing.HotSpots(r, order(n), q, topology.Serial)
		require.NoError(t, err)
		got, err := Costs{}.Cost(n, Permutations(q, 10))
		require.NoError(t, err)
		for i, cost := range got {
			assert.Equal(t, want.Degrees[i], int(cost.Flows), "%s, stage %d", q.Name, i)
			assert.Equal(t, cost.Flows*10, cost.Most)
		}
	}
}
