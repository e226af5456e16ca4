package cache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

// A long round goes down in parts, in which a key that was put twice is once.
func TestHCMABLRUStreamsLongRounds(t *testing.T) {
	const maxPart, puts = 300, 50
	root, err := cache.New(cache.Config{
		Policy: cache.HCMABLRU, Root: true, Children: 2, LocalRanks: 1, Size: 3, Nodes: 3,
		MaxMessage: 2600, MaxPart: maxPart,
	})
	require.NoError(t, err)
	var out cache.Effects
	require.NoError(t, root.Start(&out))
	for i := range puts {
		require.NoError(t, root.Put(fmt.Appendf(nil, "own-%d", i), []byte(strings.Repeat("v", 40)), &out))
	}
	for child := range 2 {
		msg := fmt.Sprintf("\x01\x00\x01\x05twice\x01%d\x01%c\x7f%s", child, 'a'+child, strings.Repeat("w", 127))
		require.NoError(t, root.Receive(cache.Peer(child), []byte(msg), &out))
	}
	require.Empty(t, out.Sends)
	require.NoError(t, root.Enter(&out))
	require.Equal(t, []cache.Release{{Epoch: 1}}, out.Released)

	var all []string
	for i, s := range out.Sends {
		require.Equal(t, cache.Peer(i%2), s.To)
		require.LessOrEqual(t, len(s.Msg), maxPart)
		want := byte(10) // part
		if i >= len(out.Sends)-2 {
			want = 2 // state
		}
		require.Equal(t, want, s.Msg[0], "message %d", i)
		if s.To == 0 {
			all = append(all, string(s.Msg[2:]))
		}
	}
	require.Greater(t, len(all), puts*40/maxPart)
	round := strings.Join(all, "")
	require.Equal(t, puts, strings.Count(round, "own-"))
	require.Equal(t, 1, strings.Count(round, "\x05twice"))
	require.Contains(t, round, "\x05twice\x011")
}
