package scale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// simple are costs with which sums can be made by hand: messages are free.
var simple = costs{
	Begin: 5 * time.Millisecond, Client: 2 * time.Millisecond, Server: 10 * time.Millisecond, Agent: 4 * time.Millisecond,
	Warden: 100 * time.Microsecond, Wait: 3 * time.Millisecond, Rounds: 6, RoundsEnd: 3, Hop: 100 * time.Microsecond,
	Spawn: time.Millisecond, Run: 2 * time.Millisecond, End: 7 * time.Millisecond, EndWait: time.Millisecond,
}

func trial(t require.TestingT, s setup, c costs) outcome {
	o, err := simulate(s, c)
	require.NoError(t, err)
	return o
}

// One node: every step after the other.
func TestOneNode(t *testing.T) {
	o := trial(t, setup{nodes: 1, ranks: 4, shape: ranges(8)}, simple)
	connect := simple.Begin + simple.connection()
	require.Equal(t, connect, o.connect)
	require.Equal(t, connect+2*simple.Hop, o.up, "range, ready")
	require.Equal(t, o.up+simple.Hop+4*simple.Spawn+simple.Hop, o.started, "launch, ranks in turn, started")
	ended := o.started + simple.Run
	require.Equal(t, ended+simple.EndWait+simple.Hop+simple.End+simple.Hop, o.down)
	require.Zero(t, o.depth)
	require.Equal(t, simple.Begin+simple.Client+simple.Server+simple.Agent+simple.Warden+4*(simple.Spawn+simple.Run)+simple.End, o.cpu)
}

// A chain: every node waits for the one before it, and a signature comes from
// the far end.
func TestChain(t *testing.T) {
	const nodes = 9
	o := trial(t, setup{nodes: nodes, ranks: 1, shape: ranges(1)}, simple)
	require.Equal(t, nodes-1, o.depth)
	connect := simple.Begin + nodes*simple.connection()
	for depth := range nodes {
		if depth > 0 {
			connect += simple.Hop                            // its parent's range
			connect += 2 * time.Duration(depth) * simple.Hop // the signature
		}
	}
	require.Equal(t, connect+(nodes+1)*simple.Hop, o.up, "the last range, and ready")
}

// A flat tree whose root starts one at a time: one after the other.
func TestFlatOneAtATime(t *testing.T) {
	const nodes = 20
	s := flat()
	s.one = true
	o := trial(t, setup{nodes: nodes, ranks: 1, shape: s}, simple)
	require.Equal(t, 1, o.depth)
	each := simple.connection() + 2*simple.Hop // the signature
	require.Equal(t, simple.Begin+simple.connection()+simple.Hop+(nodes-1)*each+3*simple.Hop, o.up)
}

// Binomial launch takes as many steps as [Sridhar] says.
func TestBinomial(t *testing.T) {
	for _, steps := range []int{1, 3, 6} {
		o := trial(t, setup{nodes: 1 << steps, ranks: 1, shape: binomial()}, simple)
		require.Equal(t, steps, o.depth)
		least := simple.Begin + time.Duration(steps+1)*simple.connection()
		require.GreaterOrEqual(t, o.up, least)
		require.Less(t, o.up, least+simple.connection(), "and no step more")
	}
}

// On shared processors nothing is done faster than they can, and with free
// messages and no waiting they are hardly ever idle.
func TestSharedProcessors(t *testing.T) {
	c := simple
	c.Wait, c.Hop = 0, 0
	for _, cores := range []int{1, 2} {
		o := trial(t, setup{nodes: 40, ranks: 4, shape: ranges(8), shared: cores}, c)
		least := o.cpu / time.Duration(cores)
		require.GreaterOrEqual(t, o.down, least)
		require.Less(t, float64(o.down), 1.25*float64(least))
	}
	one := trial(t, setup{nodes: 40, ranks: 4, shape: ranges(8), shared: 1}, c)
	own := trial(t, setup{nodes: 40, ranks: 4, shape: ranges(8)}, c)
	require.Equal(t, one.cpu, own.cpu, "the same work")
	require.Less(t, own.down, one.down)
}

// Every node starts exactly once and the job ends, in any shape, and with any hosts
// slow or dead; and each run is like the other.
func TestEveryNodeStartsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := setup{nodes: rapid.IntRange(1, 70).Draw(t, "nodes"), ranks: rapid.IntRange(1, 3).Draw(t, "ranks")}
		s.shape = rapid.SampledFrom([]shape{flat(), binomial(), ranges(1), ranges(2), ranges(8)}).Draw(t, "shape")
		s.shared = rapid.IntRange(0, 2).Draw(t, "shared")
		s.exchange = rapid.SampledFrom([]int{0, 100}).Draw(t, "exchange")
		fates := rapid.SliceOfN(rapid.IntRange(0, 9), s.nodes, s.nodes).Draw(t, "fates")
		fates[rapid.IntRange(0, s.nodes-1).Draw(t, "lives")] = 0
		dead := 0
		for _, f := range fates {
			if f == 9 {
				dead++
			}
		}
		s.slow = func(h int) time.Duration { return time.Duration(fates[h]/8) * 5 * time.Second }
		s.dead = func(h int) bool { return fates[h] == 9 }
		o := trial(t, s, usual.at(50*time.Microsecond)) // trial checks that each starts once
		require.Equal(t, dead, o.dead)
		require.LessOrEqual(t, o.connect, o.up)
		require.LessOrEqual(t, o.up, o.started)
		require.LessOrEqual(t, o.started, o.down)
		require.Equal(t, o, trial(t, s, usual.at(50*time.Microsecond)))
	})
}

// The sizes are those of package overlay's encodings.
func TestSizes(t *testing.T) {
	const nodes = 400
	z, err := newSizes(nodes, 4)
	require.NoError(t, err)
	z = z.under(8)
	rapid.Check(t, func(t *rapid.T) {
		self := rapid.IntRange(0, nodes-1).Draw(t, "self")
		first := rapid.IntRange(0, nodes-1).Draw(t, "first")
		count := rapid.IntRange(1, nodes-first).Draw(t, "count")
		r := overlay.Range{Self: host(self), Common: z.common}
		var ready overlay.Ready
		for i := range count {
			r.Hosts = append(r.Hosts, host(first+i))
			ready.Live = append(ready.Live, info(first+i))
		}
		require.Equal(t, framed(len(overlay.Encode(r))), z.rangeBytes(self, first, count))
		require.Equal(t, framed(len(overlay.Encode(ready))), z.readyBytes(first, count))
	})
	l, err := launchOf(nodes, 4)
	require.NoError(t, err)
	require.Len(t, l.World.Blocks, nodes)
	require.Equal(t, job.HostIndex(nodes-1), l.World.Blocks[nodes-1].Host)
	require.Equal(t, framed(len(overlay.Encode(l))), z.launchBytes())
}
