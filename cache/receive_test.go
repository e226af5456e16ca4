package cache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
)

// inner returns an inner node of four, and the key of which it is the home.
func inner(t testing.TB, policy cache.Policy, c cache.Config) (board cache.Board, mine, other string) {
	t.Helper()
	c.Policy, c.Children, c.LocalRanks, c.Size, c.Nodes, c.Node = policy, 2, 1, 9, 4, 1
	board, err := cache.New(c)
	require.NoError(t, err)
	require.NoError(t, board.Start(new(cache.Effects)))
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if cache.Home(c.World, []byte(key), c.Nodes) == c.Node {
			mine = key
		} else {
			other = key
		}
	}
	require.NotEmpty(t, mine)
	return board, mine, other
}

func TestPoliciesRefuseWrongMessages(t *testing.T) {
	const parent = cache.Parent
	home := func(n job.NodeID) cache.Peer { return cache.Node(n) }
	_, mine, other := inner(t, cache.Distributed, cache.Config{})
	cases := []struct {
		name   string
		policy cache.Policy
		from   cache.Peer
		msg    string
		want   string
	}{
		{name: "release from a child", policy: cache.HCS, msg: "\x05\x00\x00", want: "child 0: offset 0: release where aggregate or put or get is due"},
		{name: "put to an aggregate", policy: cache.HCMA, msg: "\x03\x00\x01k\x01v", want: "offset 0: put where aggregate or get is due"},
		{name: "early release", policy: cache.HCS, from: parent, msg: "\x05\x00\x00", want: "parent: fence 0: release before this subtree has entered"},
		{name: "half a release", policy: cache.HCMA, from: parent, msg: "\x05\x00", want: "offset 2: neither 0 nor 1"},
		{name: "odd release", policy: cache.HCMA, from: parent, msg: "\x05\x00\x02", want: "offset 2: neither 0 nor 1"},
		{name: "release of another fence", policy: cache.HCMA, from: parent, msg: "\x05\x01\x00", want: "offset 1: fence 1 while fence 0 is under way"},
		{name: "long key in a release", policy: cache.HCMA, from: parent, msg: "\x05\x00\x00\x05abcde", want: "offset 3: key of 5 bytes, at most 4"},
		{name: "put of another fence", policy: cache.HCS, msg: "\x03\x01\x01k\x01v", want: "offset 1: fence 1 while fence 0 is under way"},
		{name: "answer to nobody", policy: cache.HCS, from: parent, msg: "\x08\x00\x01k\x01v", want: `found: nobody asked for "k" in epoch 0`},
		{name: "nothing missing", policy: cache.HCS, from: parent, msg: "\x09\x00", want: "offset 2: no key"},
		{name: "two keys missing", policy: cache.HCS, from: parent, msg: "\x09\x00\x01k\x01k", want: "offset 4: bytes after the end"},
		{name: "get from the future", policy: cache.HCS, msg: "\x07\x01\x01k", want: "offset 1: get of epoch 1 in epoch 0"},
		{name: "no homes", policy: cache.HCS, from: home(2), msg: "\x07\x00\x01k", want: "board message: no such neighbor"},
		{name: "no homes", policy: cache.HCMAB, from: home(2), msg: "\x07\x00\x01k", want: "board message: no such neighbor"},

		{name: "itself", policy: cache.HCMABLRU, from: home(1), msg: "\x07\x00\x01" + mine, want: "board message: no such neighbor"},
		{name: "no such node", policy: cache.HCMABLRU, from: home(4), msg: "\x07\x00\x01" + mine, want: "board message: no such neighbor"},
		{name: "state from a home", policy: cache.HCMABLRU, from: home(2), msg: "\x02\x00", want: "offset 0: state where get or found or missing is due"},
		{name: "not its home", policy: cache.HCMABLRU, from: home(2), msg: "\x07\x00\x01" + other, want: "the home of \"" + other + "\" is elsewhere"},
		{name: "get from the far future", policy: cache.HCMABLRU, from: home(2), msg: "\x07\x02\x01" + mine, want: "offset 1: get of epoch 2 in epoch 0"},
		{name: "answer from elsewhere", policy: cache.HCMABLRU, from: home(2), msg: "\x09\x00\x01" + mine, want: "missing: the home of \"" + mine + "\" is elsewhere"},

		{name: "aggregate", policy: cache.Distributed, msg: "\x01\x00\x01", want: "offset 0: aggregate where entered is due"},
		{name: "early release", policy: cache.Distributed, from: parent, msg: "\x05\x00\x00", want: "release before this subtree has entered"},
		{name: "too many ranks", policy: cache.Distributed, from: 1, msg: "\x04\x00\x10\x00", want: "rank count cut short or above the world's 9"},
		{name: "not its home", policy: cache.Distributed, from: home(2), msg: "\x03\x00\x01" + other + "\x01v", want: "put: the home of \"" + other + "\" is elsewhere"},
		{name: "put from the far future", policy: cache.Distributed, from: home(0), msg: "\x03\x02\x01" + mine + "\x01v", want: "offset 1: put of epoch 2 in epoch 0"},
		{name: "nothing to accept", policy: cache.Distributed, from: home(2), msg: "\x06\x00\x00", want: "fence 0: accepted where nothing was put"},
		{name: "accepted later", policy: cache.Distributed, from: home(2), msg: "\x06\x01\x00", want: "offset 1: fence 1 while fence 0 is under way"},
	}
	for _, tc := range cases {
		t.Run(string(tc.policy)+"/"+tc.name, func(t *testing.T) {
			b, _, _ := inner(t, tc.policy, cache.Config{MaxKey: 4, MaxValue: 5, MaxMessage: 100})
			var out cache.Effects
			require.ErrorContains(t, b.Receive(tc.from, []byte(tc.msg), &out), tc.want)
			require.Empty(t, out)
		})
	}
}

func TestPoliciesRefuseSecondMessages(t *testing.T) {
	cases := []struct {
		policy      cache.Policy
		msg, second string
		want        string
	}{
		{policy: cache.HCS, msg: "\x01\x00\x01", second: "\x01\x00\x01", want: "child 0: fence 0: second aggregate"},
		{policy: cache.HCS, msg: "\x01\x00\x01", second: "\x03\x00\x01k\x01v", want: "child 0: fence 0: put after this child's subtree has entered"},
		{policy: cache.HCMA, msg: "\x01\x00\x01", second: "\x01\x00\x01", want: "child 0: fence 0: second aggregate"},
		{policy: cache.HCMABLRU, msg: "\x01\x00\x01", second: "\x01\x00\x01", want: "child 0: fence 0: second aggregate"},
		{policy: cache.Distributed, msg: "\x04\x00\x01\x00", second: "\x04\x00\x01\x00", want: "child 0: fence 0: second entered"},
	}
	for _, tc := range cases {
		b, _, _ := inner(t, tc.policy, cache.Config{})
		var out cache.Effects
		require.NoError(t, b.Receive(0, []byte(tc.msg), &out))
		require.ErrorContains(t, b.Receive(0, []byte(tc.second), &out), tc.want)
	}
}

// A question of the epoch to come waits for this node's release, and one that
// was kept is checked then.
func TestHomesKeepEarlyMessages(t *testing.T) {
	b, mine, other := inner(t, cache.HCMABLRU, cache.Config{})
	var out cache.Effects
	require.NoError(t, b.Receive(cache.Node(3), []byte("\x07\x01\x01"+mine), &out))
	require.Empty(t, out)
	require.NotZero(t, b.Stats().Resident)
	require.NoError(t, b.Enter(&out))
	for child := range 2 {
		require.NoError(t, b.Receive(cache.Peer(child), []byte("\x01\x00\x01"), &out))
	}
	out.Reset()
	require.NoError(t, b.Receive(cache.Parent, []byte("\x02\x00\x01"+mine+"\x01v"), &out))
	require.Equal(t, cache.Send{To: cache.Node(3), Msg: []byte("\x08\x01\x01" + mine + "\x01v")}, out.Sends[2])
	require.Equal(t, []cache.Release{{Epoch: 1}}, out.Released)

	// Whose fault it is shows when it comes, and not with the parent's release.
	held := b.Stats().Resident
	require.ErrorContains(t, b.Receive(cache.Node(3), []byte("\x07\x02\x01"+other), &out), "board message: get: the home of")
	require.Equal(t, held, b.Stats().Resident)
}

// A node that asks, or puts, for the epoch to come without end is refused, and no other
// is; all messages of an honest one are kept.
func TestHomesKeepABoundedShareOfEachNode(t *testing.T) {
	for policy, msg := range map[cache.Policy]func(key string) string{
		cache.HCMABLRU:    func(key string) string { return "\x07\x01\x01" + key },
		cache.Distributed: func(key string) string { return "\x03\x01\x01" + key + "\x32" + strings.Repeat("v", 50) },
	} {
		b, mine, _ := inner(t, policy, cache.Config{MaxKey: 64, MaxMessage: 1000})
		var out cache.Effects
		kept := 0
		var err error
		for ; err == nil; kept++ {
			require.Less(t, kept, 100)
			err = b.Receive(cache.Node(3), []byte(msg(mine)), &out)
		}
		require.ErrorContains(t, err, "of epoch 1 in epoch 0: more than ", policy)
		require.ErrorContains(t, err, " bytes of one node would be kept", policy)
		require.Greater(t, kept, 9, "a get of each rank of the world is kept")
		require.NoError(t, b.Receive(cache.Node(2), []byte(msg(mine)), &out), "another node's")
		require.Empty(t, out)
	}
}

// A child brings all ranks of its subtree, and no other number of them. Where some were
// lost no fence is complete, and nobody is told of fewer.
func TestAChildBringsItsRanks(t *testing.T) {
	for policy, message := range map[cache.Policy]string{cache.HCS: "\x01\x00", cache.HCMA: "\x01\x00", cache.HCMAB: "\x01\x00", cache.HCMABLRU: "\x01\x00", cache.Distributed: "\x04\x00"} {
		end := ""
		if policy == cache.Distributed {
			end = "\x00"
		}
		b, _, _ := inner(t, policy, cache.Config{Below: []int{3, 4}})
		var out cache.Effects
		for _, wrong := range []string{"\x02", "\x04"} {
			require.ErrorContains(t, b.Receive(0, []byte(message+wrong+end), &out), "ranks of the child's 3", policy)
		}
		require.NoError(t, b.Receive(0, []byte(message+"\x03"+end), &out), policy)

		b, _, _ = inner(t, policy, cache.Config{Below: []int{3, 4}, Lacking: true})
		out = cache.Effects{}
		require.NoError(t, b.Enter(&out))
		require.NoError(t, b.Receive(0, []byte(message+"\x03"+end), &out))
		require.NoError(t, b.Receive(1, []byte(message+"\x04"+end), &out))
		require.Empty(t, out.Sends, policy)
	}
}

// A put with a key of another home is refused as a whole, and no message of another node
// leaves a trace that is refused.
func TestRefusedPutsLeaveNoTrace(t *testing.T) {
	b, mine, other := inner(t, cache.Distributed, cache.Config{})
	var out cache.Effects
	before := b.Stats().Resident
	for _, epoch := range []string{"\x00", "\x01"} {
		require.ErrorContains(t, b.Receive(cache.Node(2), []byte("\x03"+epoch+"\x01"+mine+"\x01v\x01"+other+"\x01v"), &out), "put: the home of")
	}
	require.Equal(t, before, b.Stats().Resident)
	require.Empty(t, out.Sends)
}

func TestFormOfMessagesToHomes(t *testing.T) {
	for _, x := range []struct {
		policy    cache.Policy
		msg, want string
	}{
		{cache.HCMABLRU, "\x07\x00\x01k", ""},
		{cache.Distributed, "\x03\x00\x01k\x01v", ""},
		{cache.HCMABLRU, "\x03\x00\x01k\x01v", "put where get or found or missing is due"},
		{cache.Distributed, "\x04\x00\x01\x00", "entered where"},
		{cache.Distributed, "", "empty message"},
		{cache.Distributed, "\x07\x00", "no key"},
		{cache.Distributed, "\x07\x00\x01k\x01k", "bytes after the end"},
		{cache.HCMAB, "\x07\x00\x01k", "with policy hcmab there are no messages to homes"},
		{"", "\x07\x00\x01k", "there are no messages to homes"},
	} {
		err := x.policy.CheckHome([]byte(x.msg), 9)
		if x.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, x.want)
		}
	}
}

func TestHCMAAggregateTooLong(t *testing.T) {
	b, _, _ := inner(t, cache.HCMA, cache.Config{MaxMessage: 60})
	var out cache.Effects
	for child, key := range []string{"a", "b"} {
		value := "0123456789012345678901234567890123456789"[:30]
		require.NoError(t, b.Receive(cache.Peer(child), []byte("\x01\x00\x01\x01"+key+"\x1e"+value), &out))
	}
	require.ErrorContains(t, b.Enter(&out), "fence 0: 69 bytes were put, at most 60 fit into a message")
}

// No bytes from a peer may panic, hang or take memory they do not pay for.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x01\x00\x01\x01k\x01v"), 2, 0)
	f.Add([]byte("\x02\x00\x01k\x01v\x01k\x02vv"), 3, -1)
	f.Add([]byte("\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 1, 0)
	f.Add([]byte("\x05\x00\x00\x01k"), 0, -1)
	f.Add([]byte("\x08\x00\x01x\x01v"), 0, -1)
	f.Add([]byte("\x04\x00\x01\x01"), 4, 0)
	f.Add([]byte("\x03\x00\x01a\x01v"), 4, -2)
	f.Add([]byte("\x06\x00\x01"), 4, -2)
	f.Add([]byte("\x07\x01\x01a"), 4, -2)
	f.Fuzz(func(t *testing.T, msg []byte, policy, from int) {
		name := cache.Policies()[uint(policy)%uint(len(cache.Policies()))]
		b, _, _ := inner(t, name, cache.Config{Budget: 1000})
		entered := []byte("\x01\x00\x01")
		if name == cache.Distributed {
			entered = []byte("\x04\x00\x01\x00")
		}
		var out cache.Effects
		b.Get(1, []byte("x"), &out)
		require.NoError(t, b.Put([]byte("k"), []byte("v"), &out))
		require.NoError(t, b.Receive(1, entered, &out))
		if from != 0 {
			require.NoError(t, b.Receive(0, entered, &out))
		}
		require.NoError(t, b.Enter(&out))
		out.Reset()
		if err := b.Receive(cache.Peer(from), msg, &out); err != nil {
			require.NotEmpty(t, err.Error())
		}
		b.Get(2, []byte("k"), &out)
		require.Less(t, b.Stats().Resident, 64*(len(msg)+32))
	})
}
