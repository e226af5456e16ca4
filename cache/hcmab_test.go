package cache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cache/cachetest"
)

func newBoard(t testing.TB, c cache.Config) cache.Board {
	t.Helper()
	c.Policy = cache.HCMAB
	b, err := cache.New(c)
	require.NoError(t, err)
	require.NoError(t, b.Start(new(cache.Effects)))
	return b
}

// One message up and one down each edge per fence, whatever was put.
func TestHCMABMessagesPerFence(t *testing.T) {
	shape := cachetest.Shape{Parent: []int{-1, 0, 1, 1, 0, 4}, Ranks: []int{2, 0, 3, 1, 2, 1}}
	cl := cachetest.NewCluster(t, cache.Config{Policy: cache.HCMAB}, shape)
	const fences = 5
	for e := range fences {
		for i := range 100 * e {
			cl.Put(2, fmt.Sprintf("k%d", i), "v")
		}
		cl.Fence()
	}
	var sent, received uint64
	for i := range shape.Parent {
		s := cl.Stats(i)
		require.EqualValues(t, fences, s.Epoch)
		sent += s.Sent
		received += s.Received
	}
	require.EqualValues(t, fences*2*(len(shape.Parent)-1), sent)
	require.Equal(t, sent, received)
}

func TestHCMABGetsAreLocal(t *testing.T) {
	b := newBoard(t, cache.Config{Children: 2, LocalRanks: 1, Size: 9})
	var out cache.Effects
	require.NoError(t, b.Put([]byte("k"), []byte("v"), &out))
	b.Get(7, []byte("k"), &out)
	b.Get(8, []byte("none"), &out)
	require.Empty(t, out.Sends)
	require.Equal(t, []cache.Answer{{Token: 7, Value: "v", Found: true}, {Token: 8}}, out.Answers)
	s := b.Stats()
	require.EqualValues(t, []uint64{1, 2, 1}, []uint64{s.Puts, s.Gets, s.NotFound})
}

// A world that overwrites its keys for ever must not grow.
func TestHCMABMemoryIsBounded(t *testing.T) {
	for _, asked := range []bool{true, false} {
		b := newBoard(t, cache.Config{Root: true, LocalRanks: 1, Size: 1})
		var out cache.Effects
		round := func() {
			for k := range 10 {
				require.NoError(t, b.Put(fmt.Appendf(nil, "key-%d", k), []byte(strings.Repeat("v", 1000)), &out))
			}
			require.NoError(t, b.Enter(&out))
			if asked {
				b.Get(1, []byte("key-3"), &out)
			}
			out.Reset()
		}
		for range 300 {
			round()
			require.Less(t, b.Stats().Resident, 150_000)
		}
		b.Get(1, []byte("key-9"), &out)
		require.Equal(t, strings.Repeat("v", 1000), out.Answers[0].Value)
	}
}

// Putting one key over and over within an epoch must not grow either.
func TestHCMABRepeatedPutsAreOneEntry(t *testing.T) {
	b := newBoard(t, cache.Config{LocalRanks: 1, Size: 2})
	var out cache.Effects
	for i := range 1000 {
		require.NoError(t, b.Put([]byte("k"), fmt.Appendf(nil, "value %d", i), &out))
	}
	require.Less(t, b.Stats().Resident, 100)
	require.NoError(t, b.Enter(&out))
	require.Equal(t, "\x01\x00\x01\x01k\x09value 999", string(out.Sends[0].Msg))
}

func TestHCMABRefusesWrongMessages(t *testing.T) {
	const (
		parent = cache.Parent
		state  = "\x02\x00"
	)
	cases := []struct {
		name string
		from cache.Peer
		msg  string
		want string
	}{
		{name: "nobody", from: 2, msg: "\x01\x00\x01", want: "child 2: no such neighbor"},
		{name: "empty", want: "child 0: offset 0: empty message"},
		{name: "unknown kind", msg: "\x63\x00", want: "offset 0: unknown message of kind 99"},
		{name: "state from a child", msg: state, want: "offset 0: state where aggregate is due"},
		{name: "aggregate from the parent", from: parent, msg: "\x01\x00\x01", want: "parent: offset 0: aggregate where state is due"},
		{name: "no epoch", msg: "\x01", want: "offset 1: epoch cut short"},
		{name: "endless epoch", msg: "\x01" + strings.Repeat("\xff", 11), want: "offset 1: epoch cut short or too large"},
		{name: "other epoch", msg: "\x01\x05\x01", want: "offset 1: fence 5 while fence 0 is under way"},
		{name: "no ranks", msg: "\x01\x00", want: "offset 2: rank count cut short"},
		{name: "too many ranks", msg: "\x01\x00\x10", want: "offset 2: rank count cut short or above the world's 9"},
		{name: "empty key", msg: "\x01\x00\x01\x00\x01v", want: "offset 3: empty key"},
		{name: "key cut short", msg: "\x01\x00\x01\x05k", want: "offset 3: key cut short"},
		{name: "huge key length", msg: "\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", want: "offset 3: key cut short"},
		{name: "no value", msg: "\x01\x00\x01\x01k", want: "offset 5: value cut short"},
		{name: "value cut short", msg: "\x01\x00\x01\x01k\x02v", want: "offset 5: value cut short"},
		{name: "long key", msg: "\x01\x00\x01\x05abcdef", want: "offset 3: key of 5 bytes, at most 4"},
		{name: "long value", msg: "\x01\x00\x01\x01k\x06abcdef", want: "offset 5: value of 6 bytes, at most 5"},
		{name: "long message", msg: "\x01\x00\x01" + strings.Repeat("\x01k\x01v", 30), want: "123 bytes, at most 100"},
		{name: "state too early", from: parent, msg: state, want: "fence 0: state before this subtree has entered"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := newBoard(t, cache.Config{Children: 2, LocalRanks: 1, Size: 9, MaxKey: 4, MaxValue: 5, MaxMessage: 100})
			var out cache.Effects
			require.ErrorContains(t, b.Receive(tc.from, []byte(tc.msg), &out), tc.want)
			require.Empty(t, out)
		})
	}
	b := newBoard(t, cache.Config{Children: 2, LocalRanks: 1, Size: 9})
	var out cache.Effects
	require.NoError(t, b.Receive(0, []byte("\x01\x00\x01"), &out))
	require.ErrorContains(t, b.Receive(0, []byte("\x01\x00\x01"), &out), "child 0: fence 0: second aggregate")
}

func TestHCMABFenceErrors(t *testing.T) {
	var out cache.Effects
	b := newBoard(t, cache.Config{Root: true, LocalRanks: 1, Children: 1, Size: 9})
	require.NoError(t, b.Enter(&out))
	require.ErrorContains(t, b.Receive(0, []byte("\x01\x00\x04"), &out), "the tree holds 5 ranks, the world has 9")

	b = newBoard(t, cache.Config{LocalRanks: 1, Children: 1, Size: 9, MaxMessage: 60})
	require.NoError(t, b.Put([]byte("own"), []byte("0123456789"), &out))
	require.ErrorContains(t, b.Put([]byte("other"), []byte(strings.Repeat("v", 30)), &out), "would exceed 60 bytes")
	require.NoError(t, b.Enter(&out))
	require.ErrorContains(t, b.Receive(0, []byte("\x01\x00\x01\x03sub\x28"+strings.Repeat("v", 40)), &out), "at most 60 fit into a message")
}

func BenchmarkGet(b *testing.B) {
	board := newBoard(b, cache.Config{Root: true, LocalRanks: 1, Size: 1})
	var out cache.Effects
	for i := range 4096 {
		require.NoError(b, board.Put(fmt.Appendf(nil, "-allgather-shm-1-%d", i), []byte(strings.Repeat("v", 200)), &out))
	}
	require.NoError(b, board.Enter(&out))
	key := []byte("-allgather-shm-1-1234")
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		board.Get(1, key, &out)
	}
	require.True(b, out.Answers[0].Found)
}

// BenchmarkFence is the work of a fence at a root of 8 children: 4096 puts of
// 200 bytes, merged, installed and indexed.
func BenchmarkFence(b *testing.B) {
	aggregates := make([]string, 8)
	for c := range aggregates {
		child := newBoard(b, cache.Config{LocalRanks: 1, Size: 8})
		var out cache.Effects
		for i := range 512 {
			require.NoError(b, child.Put(fmt.Appendf(nil, "key-%d-%d", c, i), []byte(strings.Repeat("v", 200)), &out))
		}
		require.NoError(b, child.Enter(&out))
		aggregates[c] = string(out.Sends[0].Msg)
	}
	b.ReportAllocs()
	for b.Loop() {
		root := newBoard(b, cache.Config{Root: true, Children: 8, Size: 8})
		var out cache.Effects
		for c, msg := range aggregates {
			require.NoError(b, root.Receive(cache.Peer(c), []byte(msg), &out))
		}
		root.Get(1, []byte("key-3-3"), &out)
		require.True(b, out.Answers[0].Found)
	}
}
