package pmgr_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmgr"
	"github.com/golaunch/golaunch/tree/record"
)

// ints returns numbers as the protocol has them, and strings as they are.
func ints(words ...any) []byte {
	var b []byte
	for _, w := range words {
		switch w := w.(type) {
		case int:
			b = binary.NativeEndian.AppendUint32(b, uint32(w))
		case string:
			b = append(b, w...)
		}
	}
	return b
}

// world is a whole job: a server for each node, and a tree that does what they ask
// for once all have asked.
type world struct {
	servers []*pmgr.Server
	nodes   [][]job.Rank
	asked   [][]pmgr.Request // by node, oldest first
	got     map[job.Rank][]byte
	conns   map[job.Rank]pmgr.Conn
	closed  map[job.Rank]bool
	aborts  []pmgr.Abort
	broken  map[job.Rank]string
	hangups []job.Rank
	refused []string
	next    pmgr.Conn
}

func newWorld(t require.TestingT, nodes ...[]job.Rank) *world {
	w := &world{nodes: nodes, asked: make([][]pmgr.Request, len(nodes)), got: map[job.Rank][]byte{},
		conns: map[job.Rank]pmgr.Conn{}, closed: map[job.Rank]bool{}, broken: map[job.Rank]string{}}
	for n := range nodes {
		s, err := pmgr.New(pmgr.World{Nodes: nodes, Node: n})
		require.NoError(t, err)
		w.servers = append(w.servers, s)
	}
	return w
}

func (w *world) nodeOf(r job.Rank) int {
	for n, list := range w.nodes {
		for _, x := range list {
			if x == r {
				return n
			}
		}
	}
	panic("no such rank")
}

// do has a server do something, and then the tree what it can.
func (w *world) do(n int, f func(*pmgr.Server, *pmgr.Effects)) {
	var out pmgr.Effects
	f(w.servers[n], &out)
	for _, c := range out.CheckIns {
		w.conns[c.Rank] = c.Conn
	}
	of := func(c pmgr.Conn) (job.Rank, bool) {
		for r, x := range w.conns {
			if x == c {
				return r, true
			}
		}
		return 0, false
	}
	for _, p := range out.Replies {
		r, _ := of(p.Conn)
		w.got[r] = append(w.got[r], p.Data...)
	}
	for _, c := range out.Closes {
		if r, ok := of(c); ok {
			w.closed[r] = true
		}
	}
	w.aborts = append(w.aborts, out.Aborts...)
	for _, v := range out.Violations {
		w.broken[v.Rank] = v.Err.Error()
	}
	for _, h := range out.Hangups {
		w.hangups = append(w.hangups, h.Rank)
	}
	for _, x := range out.Refusals {
		w.refused = append(w.refused, x.Err.Error())
	}
	w.asked[n] = append(w.asked[n], out.Requests...)
	for _, list := range w.asked {
		if len(list) == 0 {
			return
		}
	}
	all := make([]pmgr.Request, len(w.asked))
	for i := range all {
		all[i], w.asked[i] = w.asked[i][0], w.asked[i][1:]
	}
	perform(all)
	for i := range all {
		w.do(i, func(s *pmgr.Server, out *pmgr.Effects) { s.Done(nil, out) })
	}
}

// perform stands in for the tree.
func perform(all []pmgr.Request) {
	root := all[0].Root
	switch all[0].Op {
	case record.AllReduce:
		sum := bytes.Clone(all[0].Send)
		for _, q := range all[1:] {
			if err := record.Fold(q.Fn, sum, q.Send); err != nil {
				panic(err)
			}
		}
		for _, q := range all {
			copy(q.Recv, sum)
		}
	case record.Bcast:
		for _, q := range all {
			copy(q.Recv, all[root].Send)
		}
	case record.Gather, record.AllGather:
		var sum []byte
		for _, q := range all {
			sum = append(sum, q.Send...)
		}
		for _, q := range all {
			copy(q.Recv, sum)
		}
	case record.Scatter:
		for i, q := range all {
			copy(q.Recv, all[root].Send[i*len(q.Recv):])
		}
	case record.AllToAll:
		part := len(all[0].Send) / len(all)
		for i, q := range all {
			for j, from := range all {
				copy(q.Recv[j*part:][:part], from.Send[i*part:])
			}
		}
	default:
		panic(all[0].Op)
	}
}

// open makes a connection to a node and says something over it.
func (w *world) open(n int, sure bool, data []byte) pmgr.Conn {
	w.next++
	c := w.next
	w.do(n, func(s *pmgr.Server, out *pmgr.Effects) {
		s.Open(c, sure)
		s.Receive(c, data, out)
	})
	return c
}

func (w *world) checkIn(r job.Rank) { w.open(w.nodeOf(r), true, ints(8, int(r))) }

func (w *world) say(r job.Rank, words ...any) {
	w.do(w.nodeOf(r), func(s *pmgr.Server, out *pmgr.Effects) { s.Receive(w.conns[r], ints(words...), out) })
}

func (w *world) vanish(r job.Rank) {
	w.do(w.nodeOf(r), func(s *pmgr.Server, out *pmgr.Effects) { s.Vanished(r, out) })
}

// take returns the bytes that a rank got since the last call.
func (w *world) take(r job.Rank) []byte {
	b := w.got[r]
	delete(w.got, r)
	return b
}

// A session byte for byte: two nodes, one with two ranks, every operation.
func TestSession(t *testing.T) {
	w := newWorld(t, []job.Rank{0, 2}, []job.Rank{1})
	for r := range job.Rank(3) {
		w.checkIn(r)
		w.say(r, 0, int(r)) // OPEN is nobody's affair
	}
	for _, x := range []struct {
		name string
		say  [3][]any
		get  [3][]byte
	}{
		{"barrier", [3][]any{{3}, {3}, {3}}, [3][]byte{ints(3), ints(3), ints(3)}},
		{"bcast", [3][]any{{4, 2, 3}, {4, 2, 3}, {4, 2, 3, "abc"}}, [3][]byte{[]byte("abc"), []byte("abc"), []byte("abc")}},
		{"gather to 1", [3][]any{{5, 1, 2, "AA"}, {5, 1, 2, "BB"}, {5, 1, 2, "CC"}}, [3][]byte{nil, []byte("AABBCC"), nil}},
		{"gather to 0", [3][]any{{5, 0, 1, "A"}, {5, 0, 1, "B"}, {5, 0, 1, "C"}}, [3][]byte{[]byte("ABC"), nil, nil}},
		{"scatter", [3][]any{{6, 2, 2}, {6, 2, 2}, {6, 2, 2, "aabbcc"}}, [3][]byte{[]byte("aa"), []byte("bb"), []byte("cc")}},
		{"allgather", [3][]any{{7, 1, "x"}, {7, 1, "y"}, {7, 1, "z"}}, [3][]byte{[]byte("xyz"), []byte("xyz"), []byte("xyz")}},
		{"alltoall", [3][]any{{8, 2, "a0a1a2"}, {8, 2, "b0b1b2"}, {8, 2, "c0c1c2"}}, [3][]byte{[]byte("a0b0c0"), []byte("a1b1c1"), []byte("a2b2c2")}},
		{"nothing", [3][]any{{7, 0}, {7, 0}, {7, 0}}, [3][]byte{}},
	} {
		for r := range job.Rank(3) {
			assert.Empty(t, w.got, "%s: nobody has an answer before all have called", x.name)
			w.say(r, x.say[r]...)
		}
		for r := range job.Rank(3) {
			assert.Equal(t, x.get[r], w.take(r), "%s: rank %d", x.name, r)
		}
	}
	w.say(1, 1)
	assert.Empty(t, w.closed)
	w.say(0, 1)
	w.say(2, 1)
	assert.Len(t, w.closed, 3)
	assert.Empty(t, w.broken)

	// Aborts come afterwards, too, each over a connection of its own.
	w.open(1, true, ints(3, 1, 5, "help\x00"))
	assert.Equal(t, []pmgr.Abort{{Rank: 1, Code: 3, Text: "help", Sure: true}}, w.aborts)
}

// Clients that build a tree of their own gather, close and are gone, without
// waiting for anybody.
func TestTreeModeDoesNotWait(t *testing.T) {
	w := newWorld(t, []job.Rank{0, 1})
	w.checkIn(1)
	w.say(1, 5, 0, 6, "bbbbbb", 1)
	w.do(0, func(s *pmgr.Server, out *pmgr.Effects) { s.EOF(w.conns[1], out); s.Ended(1, out) })
	w.checkIn(0)
	w.say(0, 5, 0, 6, "aaaaaa")
	assert.Equal(t, []byte("aaaaaabbbbbb"), w.take(0))
	w.say(0, 1)
	assert.True(t, w.closed[0])
	assert.Empty(t, w.broken)
	assert.Empty(t, w.hangups)
}

// One rank cannot have the server hold more than its packet and one reading.
func TestReadingStops(t *testing.T) {
	w := newWorld(t, []job.Rank{0, 1})
	w.checkIn(0)
	assert.True(t, w.servers[0].Wants(w.conns[0]))
	w.say(0, 3)
	assert.False(t, w.servers[0].Wants(w.conns[0]))
	w.checkIn(1)
	w.say(1, 3)
	assert.True(t, w.servers[0].Wants(w.conns[0]))
}

func TestAborts(t *testing.T) {
	rec := func(words ...any) []byte { return ints(words...) }
	for name, x := range map[string]struct {
		data []byte
		sure bool
		want pmgr.Abort
	}{
		"with a message":        {rec(7, 0, 4, "out\x00"), true, pmgr.Abort{Rank: 0, Code: 7, Text: "out", Sure: true}},
		"before its check-in":   {rec(-1, 1, 1, "\x00"), true, pmgr.Abort{Rank: 1, Code: -1, Sure: true}},
		"of an old client":      {rec(9, 0), true, pmgr.Abort{Rank: 0, Code: 9, Sure: true}},
		"cut":                   {rec(9, 0, 100, "half"), true, pmgr.Abort{Rank: 0, Code: 9, Text: "half", Sure: true}},
		"with a mad length":     {rec(9, 0, -5, "x"), true, pmgr.Abort{Rank: 0, Code: 9, Sure: true}},
		"of nobody knows whom":  {rec(7, 0, 4, "out\x00"), false, pmgr.Abort{Rank: 0, Code: 7, Text: "out"}},
		"code 8, of nobody ...": {rec(8, 0, 4, "out\x00"), false, pmgr.Abort{Rank: 0, Code: 8, Text: "out"}},
	} {
		w := newWorld(t, []job.Rank{0, 1})
		w.checkIn(0)
		c := w.open(0, x.sure, nil)
		for _, b := range x.data {
			w.do(0, func(s *pmgr.Server, out *pmgr.Effects) { s.Receive(c, []byte{b}, out) })
		}
		w.do(0, func(s *pmgr.Server, out *pmgr.Effects) { s.EOF(c, out) })
		assert.Equal(t, []pmgr.Abort{x.want}, w.aborts, name)
		assert.Empty(t, w.broken, name)
	}
	w := newWorld(t, []job.Rank{0, 1})
	w.checkIn(0)
	w.say(0, 2, 5)
	assert.Equal(t, []pmgr.Abort{{Rank: 0, Code: 5, Sure: true}}, w.aborts, "over its own connection")
}

// Clients call CLOSE and hang up before they abort over another connection, which
// they close at once: whose it was can mostly not be seen. Others are in an
// operation, on the same node or elsewhere, before that or later.
func TestAbortAfterCLOSE(t *testing.T) {
	for _, nodes := range [][][]job.Rank{{{0, 1}}, {{0}, {1}}} {
		for _, sure := range []bool{false, true} {
			for _, late := range []bool{false, true} {
				for _, code := range []int{42, pmgr.Version} {
					w := newWorld(t, nodes...)
					w.checkIn(0)
					w.checkIn(1)
					if !late {
						w.say(0, 3)
					}
					w.say(1, 1)
					w.do(w.nodeOf(1), func(s *pmgr.Server, out *pmgr.Effects) { s.EOF(w.conns[1], out) })
					w.open(w.nodeOf(1), sure, ints(code, 1, 5, "help\x00"))
					if late {
						w.do(w.nodeOf(1), func(s *pmgr.Server, out *pmgr.Effects) { s.Ended(1, out) })
						w.say(0, 3)
					}
					w.vanish(1)
					assert.Contains(t, w.aborts, pmgr.Abort{Rank: 1, Code: code, Text: "help", Sure: true}, "%v, sure %v, late %v", nodes, sure, late)
					assert.Empty(t, w.broken, "%v, sure %v, late %v", nodes, sure, late)
				}
			}
		}
	}
	// An unknown sender cannot accuse a rank that keeps to the protocol.
	w := newWorld(t, []job.Rank{0, 1})
	w.checkIn(0)
	w.checkIn(1)
	w.open(0, false, ints(42, 1, 5, "help\x00"))
	w.say(0, 1)
	w.say(1, 1)
	assert.Equal(t, []pmgr.Abort{{Rank: 1, Code: 42, Text: "help"}}, w.aborts)
	assert.Len(t, w.closed, 2)
	assert.Empty(t, w.broken)
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, []job.Rank{0, 1}, []job.Rank{2})
	w.open(0, true, ints(8, 2))
	w.open(0, true, ints(7, -1))
	w.open(0, false, ints(8, 0))
	assert.Equal(t, []string{"it is of rank 2, which is not on this node", "it is of rank -1, which is not on this node",
		"it checks rank 0 in, but has no owner"}, w.refused)
	assert.Empty(t, w.broken)

	// If clients don't wait, the owner of the connection can't be seen in time.
	s, err := pmgr.New(pmgr.World{Nodes: [][]job.Rank{{0, 1}}, Trees: true})
	require.NoError(t, err)
	var out pmgr.Effects
	s.Open(1, false)
	s.Receive(1, ints(8, 0), &out)
	assert.Equal(t, []pmgr.CheckIn{{Conn: 1, Rank: 0}}, out.CheckIns)
}

func TestViolations(t *testing.T) {
	type w = *world
	ended := func(w w, r job.Rank) {
		w.do(w.nodeOf(r), func(s *pmgr.Server, out *pmgr.Effects) { s.Ended(r, out) })
	}
	hangUp := func(w w, r job.Rank) {
		w.do(w.nodeOf(r), func(s *pmgr.Server, out *pmgr.Effects) { s.EOF(w.conns[r], out) })
	}
	for name, x := range map[string]struct {
		does func(w w)
		rank job.Rank
		says string
	}{
		"operations of a node": {func(w w) { w.say(0, 3); w.say(1, 7, 4, "abcd") }, 1, "it calls an allgather of 4 bytes, but rank 0 a barrier"},
		"roots of a node":      {func(w w) { w.say(0, 4, 1, 4); w.say(1, 4, 0, 4) }, 1, ""},
		"operations": {func(w w) { w.say(0, 3); w.say(1, 3); w.say(2, 7, 4, "abcd"); w.say(3, 7, 4, "abcd") }, 2,
			"it calls an allgather of 4 bytes, but rank 0 a barrier"},
		"roots on one node": {func(w w) {
			w.say(0, 5, 2, 1, "a")
			w.say(1, 5, 2, 1, "a")
			w.say(2, 5, 3, 1, "a")
			w.say(3, 5, 3, 1, "a")
		}, 2,
			"it calls a gather of 1 bytes to rank 3, but rank 0 a gather of 1 bytes to rank 2"},
		"sizes": {func(w w) {
			w.say(0, 5, 0, 2, "aa")
			w.say(1, 5, 0, 2, "aa")
			w.say(2, 5, 0, 1, "a")
			w.say(3, 5, 0, 1, "a")
		}, 0,
			"it calls a gather of 2 bytes to rank 0, but rank 2 a gather of 1 bytes to rank 0"},
		"CLOSE of some": {func(w w) {
			w.say(0, 1)
			w.say(1, 1)
			w.say(2, 3)
			w.say(3, 3)
			require.Equal(t, []job.Rank{0}, w.hangups)
			require.Empty(t, w.broken, "it may say why")
			w.vanish(0)
		}, 0, "it calls CLOSE, but rank 2 a barrier"},
		"CLOSE of one on a node": {func(w w) {
			w.say(2, 1)
			w.say(3, 3)
			require.Equal(t, []job.Rank{2}, w.hangups)
			w.vanish(2)
		}, 2, "it calls CLOSE, but rank 3 a barrier"},
		"CLOSE of one, later": {func(w w) { w.say(3, 3); w.say(2, 1); ended(w, 2) }, 2, "it calls CLOSE, but rank 3 a barrier"},
		"CLOSE of one that ends": {func(w w) {
			w.say(2, 1)
			hangUp(w, 2)
			ended(w, 2)
			require.Empty(t, w.broken)
			w.say(3, 3)
		}, 2, "it calls CLOSE, but rank 3 a barrier"},
		"no operation":          {func(w w) { w.say(0, 99) }, 0, "operation 99 does not exist"},
		"no root":               {func(w w) { w.say(0, 5, 4, 1) }, 0, "a gather of 1 bytes to rank 4, among 4 ranks"},
		"negative size":         {func(w w) { w.say(0, 7, -1) }, 0, ""},
		"more than can be held": {func(w w) { w.say(3, 8, 1<<30) }, 3, ""},
		"OPEN of another":       {func(w w) { w.say(3, 0, 2) }, 3, "OPEN of rank 2"},
		"a second check-in":     {func(w w) { w.open(0, true, ints(8, 1)) }, 1, "a second check-in, or an abort with code 8"},
		"bytes after CLOSE":     {func(w w) { w.say(0, 1, 3); w.say(1, 1); w.say(2, 1); w.say(3, 1) }, 0, "bytes after CLOSE"},
		"ends without CLOSE":    {func(w w) { hangUp(w, 2); ended(w, 2) }, 2, "it ended without CLOSE"},
		"ends before the answer": {func(w w) {
			w.say(2, 3)
			hangUp(w, 2)
			ended(w, 2)
			w.say(3, 3)
			w.say(0, 3)
			w.say(1, 3)
		}, 2, "it ended without CLOSE"},
		"hangs up, and lives on": {func(w w) { hangUp(w, 3); w.vanish(3) }, 3, "it closed its connection without CLOSE"},
		"calls, hangs up, stays": {func(w w) {
			w.say(3, 3)
			hangUp(w, 3)
			w.say(2, 3)
			w.say(0, 3)
			w.say(1, 3)
			w.vanish(3)
		}, 3, "it closed its connection without CLOSE"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []job.Rank{0, 1}, []job.Rank{2, 3})
			for r := range job.Rank(4) {
				w.checkIn(r)
			}
			x.does(w)
			require.Len(t, w.broken, 1)
			require.Contains(t, w.broken, x.rank)
			if x.says != "" {
				require.Equal(t, x.says, w.broken[x.rank])
			}
		})
	}
}

// Ranks that never come, or in another version.
func TestWhoDoesNotCheckIn(t *testing.T) {
	w := newWorld(t, []job.Rank{0, 1})
	w.open(0, true, ints(5, 1))
	assert.Equal(t, "version 5 of the protocol, or an abort with code 5 before the check-in; version 8 is served", w.broken[1])

	gone := func(w *world, r job.Rank) {
		w.do(w.nodeOf(r), func(s *pmgr.Server, out *pmgr.Effects) { s.Ended(r, out) })
	}
	w = newWorld(t, []job.Rank{0, 1})
	w.checkIn(0)
	gone(w, 1)
	assert.Equal(t, "it ended without a check-in, but rank 0 has checked in", w.broken[1])

	w = newWorld(t, []job.Rank{0, 1})
	gone(w, 1)
	w.checkIn(0)
	assert.Equal(t, "it ended without a check-in, but rank 0 checks in", w.broken[1])

	w = newWorld(t, []job.Rank{0}, []job.Rank{1, 2})
	w.checkIn(0)
	w.say(0, 3)
	assert.Empty(t, w.broken)
	gone(w, 2)
	assert.Equal(t, "it ended without a check-in, but rank 0 calls a barrier", w.broken[2])

	w = newWorld(t, []job.Rank{0}, []job.Rank{1, 2}) // no program of PMGR at all
	for r := range job.Rank(3) {
		gone(w, r)
	}
	assert.Empty(t, w.broken)
}
