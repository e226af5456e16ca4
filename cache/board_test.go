package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cache/cachetest"
	"github.com/golaunch/golaunch/internal/job"
)

func TestPoliciesConform(t *testing.T) {
	for _, policy := range cache.Policies() {
		t.Run(string(policy), func(t *testing.T) { cachetest.Run(t, policy) })
	}
}

func TestPeers(t *testing.T) {
	for n := range 3 {
		p := cache.Node(job.NodeID(n))
		got, ok := p.Node()
		require.True(t, ok)
		require.EqualValues(t, n, got)
		require.NotEqual(t, cache.Parent, p)
	}
	for _, p := range []cache.Peer{cache.Parent, 0, 7} {
		_, ok := p.Node()
		require.False(t, ok, p)
	}
	require.Equal(t, []string{"parent", "child 3", "node 0"}, []string{cache.Parent.String(), cache.Peer(3).String(), cache.Node(0).String()})
}

func TestNewRefusesNonsense(t *testing.T) {
	cases := []struct {
		c    cache.Config
		want string
	}{
		{cache.Config{Policy: cache.HCMAB, Root: true, LocalRanks: 1}, "world of 0 ranks"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, Children: -1}, "-1 children"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, LocalRanks: 2}, "2 local ranks in a world of 1"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, LocalRanks: -1}, "-1 local ranks"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, Root: true}, "root without ranks and children"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, LocalRanks: 1, MaxKey: -1}, "negative limit"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, LocalRanks: 1, MaxDrops: -1}, "negative limit"},
		{cache.Config{Policy: cache.HCMAB, Size: 1, LocalRanks: 1, Budget: -2}, "budget of -2 bytes"},
		{cache.Config{Policy: cache.HCMABLRU, Size: 1, LocalRanks: 1}, "node 0 of 0"},
		{cache.Config{Policy: cache.Distributed, Size: 1, LocalRanks: 1, Nodes: 3, Node: 3}, "node 3 of 3"},
		{cache.Config{Policy: cache.Distributed, Size: 1, LocalRanks: 1, Nodes: 3, Node: cache.NoNode}, "node -1 of 3"},
		{cache.Config{Policy: "mru", Size: 1, LocalRanks: 1}, `unknown policy "mru" (known: hcs, hcma, hcmab, hcmab-lru, distributed)`},
	}
	for _, tc := range cases {
		_, err := cache.New(tc.c)
		require.ErrorContains(t, err, tc.want)
	}
}
