package levels

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// A map costs as much as its messages, each at the level that the coordinates tell; the
// levels add up to the whole, for any map.
func TestCostsAreThoseOfTheMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, 24)
		at := d.drawMap(t)
		shares := make([]Share, d.Machine.Levels()+1)
		longest := 0.0
		for r := range int32(d.graph.Ranks()) {
			time := 0.0
			peers, weights := d.graph.Peers(r)
			for i, p := range peers {
				l := d.level(at[r], at[p])
				us := d.lines[l].Latency
				if b := d.lines[l].Bandwidth; b > 0 {
					us += float64(weights[i]) / 2 / b
				}
				time += us / 1e6
				shares[l].Messages++
				shares[l].Volume += weights[i]
				shares[l].Time += us / 1e6
			}
			longest = max(longest, time)
		}
		got := d.Shares(d.graph, at)
		var volume int64
		messages := 0
		for l, s := range got {
			assert.Equal(t, shares[l].Messages, s.Messages)
			assert.Equal(t, shares[l].Volume/2, s.Volume)
			assert.InDelta(t, shares[l].Time, s.Time, 1e-9)
			volume, messages = volume+s.Volume, messages+s.Messages
		}
		require.Equal(t, d.graph.Total(), volume)
		require.Equal(t, 2*d.graph.Edges(), messages)
		require.InDelta(t, longest, d.Max(d.graph, at), 1e-9)
	})
}

// No map is below the bound: all maps of small machines are tried.
func TestNoMapIsBelowTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, 6)
		least := math.Inf(1)
		permute(nil, d.graph.Ranks(), func(cores []int) {
			at := make([]int32, len(cores))
			for i, c := range cores {
				at[i] = int32(c)
			}
			least = min(least, d.Max(d.graph, at))
		})
		require.LessOrEqual(t, d.Bound(d.graph), least*(1+1e-9)+1e-15)
	})
}

// A star of 4 on nodes of 2 cores: one peer is near, two are far.
func TestBoundCountsCores(t *testing.T) {
	m, err := New([]string{"node"}, [][]int32{{0}, {0}, {1}, {1}})
	require.NoError(t, err)
	c, err := NewCosts(m, []measure.Line{{Latency: 10, Bandwidth: 1}, {Latency: 1, Bandwidth: 10}})
	require.NoError(t, err)
	g, err := commgraph.New(4, []commgraph.Edge{{A: 0, B: 1, Weight: 20}, {A: 0, B: 2, Weight: 200}, {A: 0, B: 3, Weight: 40}})
	require.NoError(t, err)
	require.InDelta(t, (1+100/10.)+(10+20)+(10+10), c.Bound(g)*1e6, 1e-9)
}

// Rank order on 334 hosts of one group, as [Sahoo, table 4.1] has it but for the volumes
// of single faces: 720.3, 650.8, 23.9, 32.0 and 704.1 MB there.
func TestRankOrderOfTable41(t *testing.T) {
	c, g := sahasrat(t, 334), grid(t, []int{6, 8, 167}, chain)
	each, _ := megabytes(c, g, c.Machine.Default())
	for l, want := range []float64{0, 770.6, 661.7, 22.1, 29.4, 647.2} {
		assert.InDelta(t, want, each[l], 0.05, "level %d", l)
	}
	assert.InDelta(t, 11.64, c.Max(g, c.Machine.Default()), 0.005)
}

func TestMeasuredReplacesLevels(t *testing.T) {
	g := cray(t, 1)
	m, err := OnCray(g, []topology.Node{0, 1, 4})
	require.NoError(t, err)
	var samples []measure.Sample
	sample := func(a, b topology.Node, test measure.Test, latency, perByte float64) {
		for _, size := range []int64{1, 1000, 1e6} {
			samples = append(samples, measure.Sample{From: g.Name(a), To: g.Name(b), Test: test, Size: size, Time: latency + perByte*float64(size)})
		}
	}
	sample(0, 1, measure.PingPong, 3, 0.5)
	sample(0, 4, measure.PingPong, 5, 0.25)
	sample(0, 4, measure.PingPing, 50, 2)
	lines, measured, err := Measured(Cray(), samples, measure.PingPong, m.HostLevel(g))
	require.NoError(t, err)
	assert.Equal(t, []bool{false, false, true, true, false, false}, measured)
	assert.InDelta(t, 5, lines[2].Latency, 1e-6)
	assert.InDelta(t, 4, lines[2].Bandwidth, 1e-6)
	assert.InDelta(t, 3, lines[3].Latency, 1e-6)
	assert.Equal(t, Cray()[5], lines[5])
	lines, measured, err = Measured(Cray(), samples, measure.PingPing, m.HostLevel(g))
	require.NoError(t, err)
	assert.Equal(t, []bool{false, false, true, false, false, false}, measured)
	assert.InDelta(t, 50, lines[2].Latency, 1e-6)
	assert.Len(t, samples, 9, "samples are the caller's")

	_, _, err = Measured(Cray(), []measure.Sample{{From: "x", To: "y", Test: measure.PingPong, Size: 1, Time: 1}}, measure.PingPong, m.HostLevel(g))
	assert.EqualError(t, err, `"x" is no host of the machine`)
	_, _, err = Measured(Cray()[:1], samples, measure.PingPong, m.HostLevel(g))
	assert.EqualError(t, err, "samples of level 2: there are 0 to 0")
}

func TestNewCostsRefuses(t *testing.T) {
	m, err := New([]string{"node"}, [][]int32{{0}})
	require.NoError(t, err)
	_, err = NewCosts(m, Cray())
	assert.EqualError(t, err, "6 lines of latency and bandwidth: expected 2, one for each level of messages")
	_, err = NewCosts(m, []measure.Line{{}, {Latency: math.NaN()}})
	assert.EqualError(t, err, "level 1: latency NaN us, bandwidth 0 MB/s: expected 0 to 1e+12, the bandwidth 0 or from 1e-12")
	_, err = NewCosts(m, []measure.Line{{Bandwidth: -1}, {}})
	assert.EqualError(t, err, "level 0: latency 0 us, bandwidth -1 MB/s: expected 0 to 1e+12, the bandwidth 0 or from 1e-12")
}
