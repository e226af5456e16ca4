package pmgr_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmgr"
)

// step is an operation of a program: the bytes that each rank sends and gets.
type step struct {
	say, get [][]byte
}

// drawStep draws an operation among n ranks, its answer made the naive way.
func drawStep(t *rapid.T, n int) step {
	s := step{make([][]byte, n), make([][]byte, n)}
	op, root, size := rapid.IntRange(3, 8).Draw(t, "op"), rapid.IntRange(0, n-1).Draw(t, "root"), rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "size")
	block := func(from, to int) []byte { // the bytes of one rank for another
		return bytes.Repeat([]byte(fmt.Sprintf("%c", 'a'+(from*7+to*3)%26)), size)
	}
	for r := range n {
		switch op {
		case 3:
			s.say[r], s.get[r] = ints(3), ints(3)
		case 4:
			s.say[r], s.get[r] = ints(4, root, size), block(root, 0)
			if r == root {
				s.say[r] = append(s.say[r], block(root, 0)...)
			}
		case 5:
			s.say[r] = append(ints(5, root, size), block(r, root)...)
			if r == root {
				for from := range n {
					s.get[r] = append(s.get[r], block(from, root)...)
				}
			}
		case 6:
			s.say[r], s.get[r] = ints(6, root, size), block(root, r)
			if r == root {
				for to := range n {
					s.say[r] = append(s.say[r], block(root, to)...)
				}
			}
		case 7:
			s.say[r] = append(ints(7, size), block(r, 0)...)
			for from := range n {
				s.get[r] = append(s.get[r], block(from, 0)...)
			}
		case 8:
			s.say[r] = ints(8, size)
			for other := range n {
				s.say[r] = append(s.say[r], block(r, other)...)
				s.get[r] = append(s.get[r], block(other, r)...)
			}
		}
	}
	return s
}

// drawWorld puts n ranks on nodes, anyhow.
func drawWorld(t *rapid.T, n int) [][]job.Rank {
	nodes := make([][]job.Rank, rapid.IntRange(1, n).Draw(t, "nodes"))
	for r := range n {
		at := r
		if r >= len(nodes) {
			at = rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
		}
		nodes[at] = append(nodes[at], job.Rank(r))
	}
	return nodes
}

// Whatever ranks call, wherever they are, however their bytes are cut and in
// whatever order they come, each gets what the operations say and nothing else.
func TestOperationsAgainstTheNaiveOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "ranks")
		w := newWorld(t, drawWorld(t, n)...)
		say, get := make([][]byte, n), make([][]byte, n)
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			s := drawStep(t, n)
			for r := range n {
				say[r] = append(say[r], s.say[r]...)
				get[r] = append(get[r], s.get[r]...)
			}
		}
		conn := make([]pmgr.Conn, n)
		for r := range n {
			say[r] = append(append(ints(8, r), say[r]...), ints(1)...)
			conn[r] = w.open(w.nodeOf(job.Rank(r)), true, nil)
		}
		for {
			var ready []int
			for r := range n {
				if len(say[r]) > 0 && w.servers[w.nodeOf(job.Rank(r))].Wants(conn[r]) {
					ready = append(ready, r)
				}
			}
			if len(ready) == 0 {
				break
			}
			r := rapid.SampledFrom(ready).Draw(t, "who")
			part := say[r][:rapid.IntRange(1, min(len(say[r]), 200)).Draw(t, "bytes")]
			say[r] = say[r][len(part):]
			w.do(w.nodeOf(job.Rank(r)), func(s *pmgr.Server, out *pmgr.Effects) { s.Receive(conn[r], part, out) })
		}
		require.Empty(t, w.broken)
		require.Empty(t, w.refused)
		for r := range n {
			require.Empty(t, say[r], "rank %d was read to its end", r)
			require.Equal(t, string(get[r]), string(w.got[job.Rank(r)]), "rank %d", r)
		}
		require.Len(t, w.closed, n)
	})
}

// Whatever differs between ranks is found out, and named.
func TestDifferencesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "ranks")
		w := newWorld(t, drawWorld(t, n)...)
		odd := rapid.IntRange(0, n-1).Draw(t, "odd")
		one := [][]byte{ints(3), ints(1), ints(7, 1, "x"), ints(7, 2, "xx"), ints(5, 0, 1, "x"), ints(5, 1, 1, "x"), append(ints(8, 1), bytes.Repeat([]byte("x"), n)...)}
		i := rapid.IntRange(0, len(one)-1).Draw(t, "all call")
		j := rapid.IntRange(0, len(one)-2).Draw(t, "one calls")
		if j >= i {
			j++
		}
		for r := range n {
			w.checkIn(job.Rank(r))
		}
		for r := range n {
			k := i
			if r == odd {
				k = j
			}
			w.do(w.nodeOf(job.Rank(r)), func(s *pmgr.Server, out *pmgr.Effects) { s.Receive(w.conns[job.Rank(r)], one[k], out) })
		}
		for _, r := range w.hangups { // they say no more
			w.vanish(r)
		}
		require.NotEmpty(t, w.broken)
		for _, says := range w.broken {
			require.Contains(t, says, "it calls ")
			require.Contains(t, says, ", but rank ")
		}
		require.Empty(t, w.closed)
		for r := range n {
			require.Empty(t, w.got[job.Rank(r)])
		}
	})
}

// Bytes of strangers never panic, nor have anything but one end.
func FuzzReceive(f *testing.F) {
	f.Add(ints(8, 0, 3), 1)
	f.Add(ints(8, 0, 4, 1, 3, 5, 0, 2, "ab", 1), 3)
	f.Add(ints(8, 0, 6, 0, 2, "abcd", 7, 1, "x", 8, 1, "yy", 2, 9), 64)
	f.Add(ints(8, 1, 8, -1), 5)
	f.Add(ints(7, 1, 4, "out\x00"), 4)
	f.Add(ints(8, 0, 8, 1<<30), 64)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		w := newWorld(t, []job.Rank{0, 1})
		c := w.open(0, true, nil)
		for cut = max(cut, 1); len(data) > 0; {
			part := data[:min(cut, len(data))]
			data = data[len(part):]
			w.do(0, func(s *pmgr.Server, out *pmgr.Effects) { s.Receive(c, part, out) })
		}
		w.do(0, func(s *pmgr.Server, out *pmgr.Effects) { s.EOF(c, out) })
		require.LessOrEqual(t, len(w.broken), 1)
		require.LessOrEqual(t, len(w.aborts), 1)
		require.Empty(t, w.got, "rank 1 never called")
	})
}
