package protocol

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/xrcsim"
	"github.com/golaunch/golaunch/xrcsim/workload"
)

var simulated = []xrcsim.Transport{xrcsim.RC, xrcsim.XRC, xrcsim.UD, xrcsim.Hybrid}

// rough returns a network that loses, doubles and delays datagrams, with few of all.
func rough(t *rapid.T, transport xrcsim.Transport) Config {
	c := Config{
		Nodes: rapid.IntRange(1, 4).Draw(t, "nodes"), Transport: transport,
		Inside:    rapid.SampledFrom([]xrcsim.Inside{xrcsim.SharedMemory, xrcsim.Network}).Draw(t, "inside"),
		Connect:   rapid.SampledFrom([]xrcsim.Connect{xrcsim.OnDemand, xrcsim.Static}).Draw(t, "connect"),
		Seed:      rapid.Uint64().Draw(t, "seed"),
		Loss:      rapid.SampledFrom([]float64{0, 0.1, 0.6}).Draw(t, "loss"),
		Duplicate: rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "duplicate"),
		Reorder:   rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "reorder"),
		Costs:     DefaultCosts(),
	}
	c.Timeout = 7 * time.Microsecond
	c.Buffers = rapid.IntRange(1, 4).Draw(t, "buffers")
	c.Depth = rapid.IntRange(1, 4).Draw(t, "depth")
	c.Coalesce = rapid.SampledFrom([]int{0, 100}).Draw(t, "coalesce")
	c.First = rapid.IntRange(0, 3).Draw(t, "first")
	return c
}

// actions is a list of actions of processes, the same for all transports.
type actions []func(w *World)

// draw makes a program of two jobs on the same nodes, whose processes leave at any
// time. It relies on the numbers that Spawn gives.
func draw(t *rapid.T, nodes int) actions {
	var p actions
	on := rapid.IntRange(0, nodes-1)
	first := rapid.SliceOfN(on, 1, 8).Draw(t, "first job")
	second := rapid.SliceOfN(on, 0, 6).Draw(t, "second job")
	domain := rapid.IntRange(0, 1).Draw(t, "domain of the second")
	spawn := time.Duration(rapid.IntRange(0, 20_000).Draw(t, "spawn at"))
	p = append(p, func(w *World) {
		w.Spawn(first, 0)
		w.At(spawn, func() { w.Spawn(second, domain) })
	})
	all := len(first) + len(second)
	begin := func(id int) time.Duration {
		if id >= len(first) {
			return spawn
		}
		return 0
	}
	leave := make([]time.Duration, all)
	for id := range leave {
		leave[id] = spawn + time.Duration(rapid.IntRange(0, 60_000).Draw(t, "leaves at"))
	}
	process := rapid.IntRange(0, all-1)
	for range rapid.IntRange(0, 60).Draw(t, "messages") {
		from, to := process.Draw(t, "from"), process.Draw(t, "to")
		at := time.Duration(rapid.IntRange(0, 60_000).Draw(t, "at")) // nanoseconds
		bytes := rapid.SampledFrom([]int{0, 10, 60, 5000}).Draw(t, "bytes")
		if from == to || at <= max(begin(from), begin(to)) || at >= min(leave[from], leave[to]) {
			continue
		}
		p = append(p, func(w *World) {
			w.At(at, func() {
				if err := w.Send(from, to, bytes); err != nil {
					panic(err)
				}
			})
		})
	}
	return append(p, func(w *World) {
		for id, at := range leave {
			w.At(at, func() { w.Leave(id) })
		}
	})
}

// sent are the numbers of messages from one process to another.
type pair struct{ from, to int }

func byPair(list []Message) map[pair][]int {
	m := map[pair][]int{}
	for _, x := range list {
		m[pair{x.From, x.To}] = append(m[pair{x.From, x.To}], x.Number)
	}
	return m
}

// Two jobs, a network that loses, doubles and delays datagrams, receivers without
// buffers, processes that leave at any time: each message is delivered just once and
// in order, by all transports alike, what Check knows holds at every event, and in
// the end nothing is left.
func TestEverythingArrivesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rough(t, xrcsim.RC)
		p := draw(t, c.Nodes)
		var first map[pair][]int
		for _, transport := range simulated {
			c.Transport = transport
			w, err := New(c)
			require.NoError(t, err)
			for _, do := range p {
				do(w)
			}
			runChecked(t, w)
			got := byPair(w.Delivered)
			for x, numbers := range got {
				require.True(t, slices.IsSorted(numbers), "%s: from %d to %d: %v", transport, x.from, x.to, numbers)
				require.Len(t, slices.Compact(slices.Clone(numbers)), len(numbers), "%s: delivered twice", transport)
			}
			if first == nil {
				first = got
			}
			require.Equal(t, first, got, "%s delivers what rc does", transport)
			if transport == xrcsim.RC || transport == xrcsim.XRC {
				require.Zero(t, w.OutOfOrder, "%s keeps the order by itself", transport)
			}
			for id := range w.procs {
				require.True(t, w.Gone(id), "%s: process %d", transport, id)
				require.Zero(t, w.QueuePairs(id))
			}
			for n := range c.Nodes {
				require.Zero(t, w.ReceiveOnly(n), "%s: node %d", transport, n)
			}
		}
	})
}

// The simulation makes as many queue pairs as are counted.
func TestAgreesWithCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 14).Draw(t, "ranks")
		j, err := xrcsim.NewJob(ranks, rapid.IntRange(1, 5).Draw(t, "ppn"))
		require.NoError(t, err)
		rank := rapid.Int32Range(0, int32(ranks-1))
		edges := rapid.SliceOf(rapid.Custom(func(t *rapid.T) commgraph.Edge {
			return commgraph.Edge{A: rank.Draw(t, "a"), B: rank.Draw(t, "b"), Weight: 1}
		})).Draw(t, "edges")
		g, err := commgraph.New(ranks, edges)
		require.NoError(t, err)
		program, err := workload.FromGraph("drawn", g).Peers(ranks)
		require.NoError(t, err)
		setup := workload.Collectives(ranks)
		c := rough(t, xrcsim.RC)
		c.Nodes, c.First = j.Nodes(), 2
		p := xrcsim.Default()
		p.Inside, p.Connect = c.Inside, c.Connect
		points, err := xrcsim.Count(j, xrcsim.Workload{Program: program, Setup: setup}, p, []xrcsim.Transport{xrcsim.RC, xrcsim.XRC, xrcsim.Hybrid})
		require.NoError(t, err)
		for _, point := range points {
			c.Transport = point.Transport
			requireAgrees(t, c, j, point, program, setup)
		}
	})
}

// requireAgrees simulates a job whose ranks send more messages to the peers of the
// program than datagrams are for, and two to those of setup.
func requireAgrees(t require.TestingT, c Config, j xrcsim.Job, point xrcsim.Point, program, setup workload.Peers) *World {
	w, err := New(c)
	require.NoError(t, err)
	var nodes []int
	for r := range j.Ranks {
		nodes = append(nodes, j.Node(r))
	}
	w.Spawn(nodes, 0)
	for r := range j.Ranks {
		var s, more workload.Set
		program(&s, r)
		setup(&more, r)
		setupOnly := slices.DeleteFunc(more.List(r), func(x int32) bool { return slices.Contains(s.List(r), x) })
		for _, to := range setupOnly {
			require.NoError(t, w.Send(r, int(to), 10))
			require.NoError(t, w.Send(r, int(to), 10))
		}
		for _, to := range s.List(r) {
			for range c.First + 1 {
				require.NoError(t, w.Send(r, int(to), 10))
			}
		}
	}
	w.Run()
	require.NoError(t, w.Check())
	require.Zero(t, w.UnderWay())
	require.Equal(t, point.QueuePairs, spread(j.Ranks, w.QueuePairs), point.Transport)
	require.Equal(t, point.ReceiveOnly, spread(j.Nodes(), w.ReceiveOnly), point.Transport)
	return w
}

func spread(n int, f func(int) int) xrcsim.Spread {
	s := xrcsim.Spread{Minimum: float64(f(0)), Maximum: float64(f(0))}
	for i := range n {
		x := float64(f(i))
		s.Minimum, s.Maximum = min(s.Minimum, x), max(s.Maximum, x)
		s.Average += x
	}
	s.Average /= float64(n)
	return s
}

// The benchmarks at 8 nodes of 8, made connection by connection.
func TestBenchmarksAgree(t *testing.T) {
	j, err := xrcsim.NewJob(64, 8)
	require.NoError(t, err)
	sources, err := workload.Parse("npb")
	require.NoError(t, err)
	setup := workload.Collectives(64)
	for _, s := range sources {
		program, err := s.Peers(64)
		require.NoError(t, err)
		points, err := xrcsim.Count(j, xrcsim.Workload{Name: s.Name, Program: program, Setup: setup}, xrcsim.Default(), []xrcsim.Transport{xrcsim.RC, xrcsim.XRC})
		require.NoError(t, err)
		for _, point := range points {
			c := config(point.Transport, 8)
			c.First = 1
			w := requireAgrees(t, c, j, point, program, setup)
			require.Equal(t, point.HCA, spread(j.Nodes(), w.Touched), "%s, %s: what adapters work with", s.Name, point.Transport)
		}
	}
}
