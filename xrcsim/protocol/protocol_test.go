package protocol

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/xrcsim"
)

// config returns a quiet network, peers inside a node over shared memory.
func config(transport xrcsim.Transport, nodes int) Config {
	return Config{Nodes: nodes, Transport: transport, Inside: xrcsim.SharedMemory, Connect: xrcsim.OnDemand, Seed: 1, Costs: DefaultCosts()}
}

func newWorld(t testing.TB, c Config) *World {
	t.Helper()
	w, err := New(c)
	require.NoError(t, err)
	return w
}

// blocks returns so many nodes, each as often as it has processes.
func blocks(nodes, ppn int) []int {
	var list []int
	for n := range nodes {
		for range ppn {
			list = append(list, n)
		}
	}
	return list
}

// runChecked lets all happen and looks at what is always true after each event.
func runChecked(t require.TestingT, w *World) {
	for w.Step() {
		require.NoError(t, w.Check())
	}
	require.Zero(t, w.UnderWay(), "messages that were not delivered")
}

// Figure 4.1: process A1 needs two connections to reach B1 and B2 by RC, and one by
// XRC, where B's node has a receive-only queue pair with two users.
func TestFigure41(t *testing.T) {
	for transport, want := range map[xrcsim.Transport]int{xrcsim.RC: 2, xrcsim.XRC: 1} {
		w := newWorld(t, config(transport, 2))
		p := w.Spawn(blocks(2, 2), 0)
		for _, to := range p[2:] {
			require.NoError(t, w.Send(p[0], to, 100))
		}
		runChecked(t, w)
		assert.Equal(t, want, w.QueuePairs(p[0]))
		assert.Equal(t, want, w.Direct)
		assert.Equal(t, 2-want, w.Indirect)
		if transport == xrcsim.XRC {
			assert.Equal(t, 1, w.ReceiveOnly(1))
			assert.Equal(t, 2, w.nodes[1].receiveOnly[w.procs[p[2]].registered[p[0]]].users)
		}
	}
}

// Figure 4.4: a process that talks to B4 of its own job talks to B5 of another over
// the same connection, which lives on when B4 has ended, until B5 has.
func TestFigure44(t *testing.T) {
	w := newWorld(t, config(xrcsim.XRC, 2))
	x := w.Spawn([]int{0, 1}, 0)
	a4, b4 := x[0], x[1]
	require.NoError(t, w.Send(a4, b4, 100))
	runChecked(t, w)
	b5 := w.Spawn([]int{1}, 0)[0]
	require.NoError(t, w.Send(a4, b5, 100))
	runChecked(t, w)
	require.Equal(t, 1, w.QueuePairs(a4))
	require.Equal(t, 1, w.Indirect)

	w.Leave(b4)
	runChecked(t, w)
	require.True(t, w.Gone(b4))
	require.Equal(t, 1, w.ReceiveOnly(1), "the other process still receives by it")
	require.NoError(t, w.Send(a4, b5, 100))
	require.EqualError(t, w.Send(a4, b4, 100), "process 1 leaves or has left")
	runChecked(t, w)
	require.Len(t, w.Delivered, 3)
	require.Equal(t, 1, w.Direct, "no connection was made anew")

	w.Leave(b5)
	runChecked(t, w)
	require.Zero(t, w.ReceiveOnly(1))
	require.Zero(t, w.QueuePairs(a4))
}

// Where the one that sends leaves, its queue pairs go at both ends.
func TestSenderLeaves(t *testing.T) {
	for _, transport := range []xrcsim.Transport{xrcsim.RC, xrcsim.XRC} {
		w := newWorld(t, config(transport, 2))
		p := w.Spawn(blocks(2, 2), 0)
		for _, to := range p[2:] {
			require.NoError(t, w.Send(p[0], to, 100))
			require.NoError(t, w.Send(p[1], to, 100))
		}
		runChecked(t, w)
		w.Leave(p[0])
		runChecked(t, w)
		require.Zero(t, w.QueuePairs(p[0]))
		if transport == xrcsim.XRC {
			require.Equal(t, 1, w.ReceiveOnly(1), "that of the other process")
		} else {
			require.Equal(t, 1, w.QueuePairs(p[2]))
		}
		require.NoError(t, w.Send(p[1], p[2], 100))
		runChecked(t, w)
	}
}

// Processes that have joined another XRC domain need a connection of their own.
func TestDomains(t *testing.T) {
	w := newWorld(t, config(xrcsim.XRC, 2))
	a := w.Spawn([]int{0}, 0)[0]
	b, c := w.Spawn([]int{1}, 0)[0], w.Spawn([]int{1}, 1)[0]
	require.NoError(t, w.Send(a, b, 1))
	require.NoError(t, w.Send(a, c, 1))
	runChecked(t, w)
	require.Equal(t, 2, w.QueuePairs(a))
	require.Equal(t, 2, w.ReceiveOnly(1))
}

// Both ends ask at once: RC ends with one connection, XRC with one in each direction.
func TestRace(t *testing.T) {
	for transport, want := range map[xrcsim.Transport]Totals{xrcsim.RC: {Races: 1, Direct: 1}, xrcsim.XRC: {Direct: 2}} {
		w := newWorld(t, config(transport, 2))
		p := w.Spawn([]int{0, 1}, 0)
		require.NoError(t, w.Send(p[0], p[1], 10))
		require.NoError(t, w.Send(p[1], p[0], 10))
		runChecked(t, w)
		assert.Equal(t, want.Races, w.Races, transport)
		assert.Equal(t, want.Direct, w.Direct, transport)
		for _, id := range p {
			assert.Equal(t, 1, w.QueuePairs(id), transport)
		}
	}
}

// A process that sends to two of a node at once makes one XRC connection: the second
// waits for it.
func TestSecondPeerWaits(t *testing.T) {
	c := config(xrcsim.XRC, 2)
	c.Loss, c.Timeout = 0.5, 10*time.Microsecond
	w := newWorld(t, c)
	p := w.Spawn(blocks(2, 4), 0)
	for _, to := range p[4:] {
		require.NoError(t, w.Send(p[0], to, 10))
	}
	runChecked(t, w)
	require.Equal(t, 1, w.Direct)
	require.Equal(t, 3, w.Indirect)
	require.Positive(t, w.Repeated)
}

// Table 4.1, made and not counted.
func TestStatic(t *testing.T) {
	for inside, want := range map[xrcsim.Inside]map[xrcsim.Transport]int{
		xrcsim.Network:      {xrcsim.RC: 11, xrcsim.XRC: 3},
		xrcsim.SharedMemory: {xrcsim.RC: 8, xrcsim.XRC: 2},
	} {
		for transport, pairs := range want {
			c := config(transport, 3)
			c.Inside, c.Connect = inside, xrcsim.Static
			w := newWorld(t, c)
			p := w.Spawn(blocks(3, 4), 0)
			runChecked(t, w)
			for _, id := range p {
				assert.Equal(t, pairs, w.QueuePairs(id), "%s, %s", transport, inside)
			}
		}
	}
}

// latency is that of a small message by a connection that is there.
func latency(t testing.TB, w *World, from, to, bytes int) time.Duration {
	require.NoError(t, w.Send(from, to, bytes))
	runChecked(t, w)
	m := w.Delivered[len(w.Delivered)-1]
	return m.Delivered - m.Sent
}

// Figure 4.5: an indirect send of few bytes takes a little longer, one of many bytes
// as good as not.
func TestIndirectSend(t *testing.T) {
	w := newWorld(t, config(xrcsim.XRC, 2))
	p := w.Spawn(blocks(2, 2), 0)
	latency(t, w, p[0], p[2], 1)
	latency(t, w, p[0], p[3], 1)
	direct, indirect := latency(t, w, p[0], p[2], 4), latency(t, w, p[0], p[3], 4)
	assert.Equal(t, w.Costs.Indirect, indirect-direct)
	direct, indirect = latency(t, w, p[0], p[2], 1<<20), latency(t, w, p[0], p[3], 1<<20)
	assert.Less(t, float64(indirect)/float64(direct), 1.001)
}

// Small messages that wait for a place in the send queue go as one [Sridhar 4.2.1].
func TestCoalescing(t *testing.T) {
	for coalesce, sends := range map[int]int{0: 1 + 100, 1000: 1 + 2 + 10} {
		c := config(xrcsim.RC, 2)
		c.Depth, c.Coalesce = 2, coalesce
		w := newWorld(t, c)
		p := w.Spawn([]int{0, 1}, 0)
		latency(t, w, p[0], p[1], 100)
		for range 100 {
			require.NoError(t, w.Send(p[0], p[1], 100))
		}
		runChecked(t, w)
		assert.Equal(t, sends, w.Sends)
		assert.Len(t, w.Delivered, 101)
	}
}

// A shared receive queue that has run dry delays what is sent, and loses nothing.
func TestBuffersRunOut(t *testing.T) {
	for _, transport := range []xrcsim.Transport{xrcsim.RC, xrcsim.XRC, xrcsim.UD} {
		c := config(transport, 3)
		c.Buffers, c.Receive, c.Timeout = 2, 30*time.Microsecond, 100*time.Microsecond
		w := newWorld(t, c)
		p := w.Spawn([]int{0, 1, 2}, 0)
		for range 20 {
			require.NoError(t, w.Send(p[0], p[2], 10))
			require.NoError(t, w.Send(p[1], p[2], 10))
		}
		runChecked(t, w)
		assert.Positive(t, w.Totals.NotReady+w.Dropped, transport)
		assert.Len(t, w.Delivered, 40)
	}
}

// Hybrid sends sixteen messages of a pair as datagrams, and then connects.
func TestSixteenMessages(t *testing.T) {
	w := newWorld(t, config(xrcsim.Hybrid, 2))
	p := w.Spawn([]int{0, 1}, 0)
	for range 16 {
		latency(t, w, p[0], p[1], 10)
	}
	require.Zero(t, w.Direct)
	require.Zero(t, w.Sends)
	latency(t, w, p[0], p[1], 10) // asks, and goes as a datagram
	require.Equal(t, 1, w.Direct)
	latency(t, w, p[0], p[1], 10)
	require.Equal(t, 1, w.Sends)
}

// Datagrams carry a message in parts, which arrive in any order.
func TestParts(t *testing.T) {
	c := config(xrcsim.UD, 2)
	c.Loss, c.Duplicate, c.Reorder, c.Timeout = 0.3, 0.3, 0.5, 50*time.Microsecond
	w := newWorld(t, c)
	p := w.Spawn([]int{0, 1}, 0)
	for _, bytes := range []int{0, 1, 2048, 2049, 100_000} {
		require.NoError(t, w.Send(p[0], p[1], bytes))
	}
	runChecked(t, w)
	require.Len(t, w.Delivered, 5)
	require.Positive(t, w.OutOfOrder)
	require.GreaterOrEqual(t, w.Datagrams, 1+1+1+2+49)
	require.Zero(t, w.QueuePairs(p[0]))
	require.Equal(t, 1, w.Touched(0))
}

// The same seed gives the same run, another one another.
func TestDeterministic(t *testing.T) {
	run := func(seed uint64) (Totals, []Message, time.Duration) {
		c := config(xrcsim.XRC, 3)
		c.Seed, c.Loss, c.Reorder, c.Timeout = seed, 0.2, 0.5, 20*time.Microsecond
		w := newWorld(t, c)
		p := w.Spawn(blocks(3, 3), 0)
		for _, a := range p {
			for _, b := range p {
				if a != b {
					require.NoError(t, w.Send(a, b, 10))
				}
			}
		}
		for _, a := range p {
			w.Leave(a)
		}
		runChecked(t, w)
		return w.Totals, w.Delivered, w.Now()
	}
	totals, delivered, end := run(7)
	for range 3 {
		again, also, then := run(7)
		require.Equal(t, totals, again)
		require.Equal(t, delivered, also)
		require.Equal(t, end, then)
	}
	_, other, _ := run(8)
	require.NotEqual(t, delivered, other)
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`transport "dc": expected rc, xrc, ud or hybrid`:                              func(c *Config) { c.Transport = xrcsim.DC },
		"chance 0.95: expected 0 to 0.9":                                              func(c *Config) { c.Loss = 0.95 },
		"a time of -1ns: expected 0 to 1h0m0s":                                        func(c *Config) { c.Latency = -1 },
		"0 bytes are coalesced, -1 messages come first: expected 0 or more":           func(c *Config) { c.First = -1 },
		"chance -1: expected 0 to 0.9":                                                func(c *Config) { c.Reorder = -1 },
		"0 nodes: expected 1 or more":                                                 func(c *Config) { c.Nodes = 0 },
		"rate 1500000000, MTU 2048, depth 0, 512 buffers: expected 1 or more of each": func(c *Config) { c.Depth = 0 },
		"timeout 0s, not ready 40µs: expected more than 0":                            func(c *Config) { c.Timeout = 0 },
	} {
		c := config(xrcsim.RC, 1)
		change(&c)
		_, err := New(c)
		require.EqualError(t, err, want)
	}
	w := newWorld(t, config(xrcsim.RC, 1))
	w.Spawn([]int{0, 0}, 0)
	require.EqualError(t, w.Send(0, 2, 1), "process 2: there are 0 to 1")
	require.EqualError(t, w.Send(1, 1, 1), "process 1: a message to itself")
	require.EqualError(t, w.Send(0, 1, -1), "message of -1 bytes: expected 0 to 1073741824")
}
