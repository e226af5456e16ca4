package cache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
)

// inner is an inner node of four, and the key of which it is the home.
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
		{"release from a child", cache.HCS, 0, "\x05\x00\x00", "child 0: offset 0: release where aggregate or put or get is due"},
		{"put to an aggregate", cache.HCMA, 0, "\x03\x00\x01k\x01v", "offset 0: put where aggregate or get is due"},
		{"early release", cache.HCS, parent, "\x05\x00\x00", "parent: fence 0: release before this subtree has entered"},
		{"half a release", cache.HCMA, parent, "\x05\x00", "offset 2: neither 0 nor 1"},
		{"odd release", cache.HCMA, parent, "\x05\x00\x02", "offset 2: neither 0 nor 1"},
		{"release of another fence", cache.HCMA, parent, "\x05\x01\x00", "offset 1: fence 1 while fence 0 is under way"},
		{"long key in a release", cache.HCMA, parent, "\x05\x00\x00\x05abcde", "offset 3: key of 5 bytes, at most 4"},
		{"put of another fence", cache.HCS, 0, "\x03\x01\x01k\x01v", "offset 1: fence 1 while fence 0 is under way"},
		{"answer to nobody", cache.HCS, parent, "\x08\x00\x01k\x01v", `found: nobody asked for "k" in epoch 0`},
		{"nothing missing", cache.HCS, parent, "\x09\x00", "offset 2: no key"},
		{"two keys missing", cache.HCS, parent, "\x09\x00\x01k\x01k", "offset 4: bytes after the end"},
		{"get from the future", cache.HCS, 0, "\x07\x01\x01k", "offset 1: get of epoch 1 in epoch 0"},
		{"no homes", cache.HCS, home(2), "\x07\x00\x01k", "board message: no such neighbor"},
		{"no homes", cache.HCMAB, home(2), "\x07\x00\x01k", "board message: no such neighbor"},

		{"itself", cache.HCMABLRU, home(1), "\x07\x00\x01" + mine, "board message: no such neighbor"},
		{"no such node", cache.HCMABLRU, home(4), "\x07\x00\x01" + mine, "board message: no such neighbor"},
		{"state from a home", cache.HCMABLRU, home(2), "\x02\x00", "offset 0: state where get or found or missing is due"},
		{"not its home", cache.HCMABLRU, home(2), "\x07\x00\x01" + other, "the home of \"" + other + "\" is elsewhere"},
		{"get from the far future", cache.HCMABLRU, home(2), "\x07\x02\x01" + mine, "offset 1: get of epoch 2 in epoch 0"},
		{"answer from elsewhere", cache.HCMABLRU, home(2), "\x09\x00\x01" + mine, "missing: the home of \"" + mine + "\" is elsewhere"},

		{"aggregate", cache.Distributed, 0, "\x01\x00\x01", "offset 0: aggregate where entered is due"},
		{"early release", cache.Distributed, parent, "\x05\x00\x00", "release before this subtree has entered"},
		{"too many ranks", cache.Distributed, 1, "\x04\x00\x10\x00", "rank count cut short or above the world's 9"},
		{"not its home", cache.Distributed, home(2), "\x03\x00\x01" + other + "\x01v", "put: the home of \"" + other + "\" is elsewhere"},
		{"put from the far future", cache.Distributed, home(0), "\x03\x02\x01" + mine + "\x01v", "offset 1: put of epoch 2 in epoch 0"},
		{"nothing to accept", cache.Distributed, home(2), "\x06\x00\x00", "fence 0: accepted where nothing was put"},
		{"accepted later", cache.Distributed, home(2), "\x06\x01\x00", "offset 1: fence 1 while fence 0 is under way"},
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
		{cache.HCS, "\x01\x00\x01", "\x01\x00\x01", "child 0: fence 0: second aggregate"},
		{cache.HCS, "\x01\x00\x01", "\x03\x00\x01k\x01v", "child 0: fence 0: put after this child's subtree has entered"},
		{cache.HCMA, "\x01\x00\x01", "\x01\x00\x01", "child 0: fence 0: second aggregate"},
		{cache.HCMABLRU, "\x01\x00\x01", "\x01\x00\x01", "child 0: fence 0: second aggregate"},
		{cache.Distributed, "\x04\x00\x01\x00", "\x04\x00\x01\x00", "child 0: fence 0: second entered"},
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

// A node that asks, or puts, for the epoch to come without end is refused, and no other is; what
// an honest one may have to say is kept.
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
