package jobs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// What ranks are told of their network is that of their own node, whatever the order
// of the blocks.
func TestNetworkOfANode(t *testing.T) {
	a := joined(&testNode{root: true, self: overlay.HostEntry{Index: 5}, subtree: &overlay.Subtree{}, job: &Job{launch: &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: []job.HostIndex{3, 5, 9}, Universe: -1}}})
	a.job.Ranged()
	spec := overlay.World{Size: 3, KVSName: "k", Apps: make([]job.App, 1), Blocks: []job.Block{{Host: 9, First: 0, Count: 1}, {Host: 5, First: 1, Count: 1}, {Host: 3, First: 2, Count: 1}}}
	w, err := a.job.newWorld(0, spec, false)
	require.NoError(t, err)
	require.Equal(t, []string{"GOLAUNCH_TOPO_DEPTH=0"}, networkEnv(w, 5), "no network is known")
	spec.Depth, spec.Clusters = 3, []int{0, 0, 0, 0, 1, 14, 0, 1, 2}
	w, err = a.job.newWorld(0, spec, false)
	require.NoError(t, err)
	require.Equal(t, []string{"GOLAUNCH_TOPO_DEPTH=3", "GOLAUNCH_TOPO_CLUSTERS=0,1,14"}, networkEnv(w, 5))
}

// Clusters that are not those of the world's nodes are refused.
func TestClustersThatAreNone(t *testing.T) {
	for want, x := range map[string]struct {
		depth    int
		clusters []int
	}{
		"world 0: 3 switch clusters of 2 nodes at 2 depths":     {2, []int{0, 0, 0}},
		"world 0: 2 switch clusters of 2 nodes at 0 depths":     {0, []int{0, 0}},
		"world 0: 0 switch clusters of 2 nodes at -1 depths":    {-1, nil},
		"world 0: 512 switch clusters of 2 nodes at 256 depths": {256, make([]int, 512)},
		"world 0: switch cluster -1 does not exist":             {1, []int{0, -1}},
		"world 0: switch cluster 2147483648 does not exist":     {1, []int{0, math.MaxInt32 + 1}},
	} {
		a := joined(&testNode{self: overlay.HostEntry{Index: 3}, subtree: &overlay.Subtree{}, job: &Job{launch: &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB}, Nodes: []job.HostIndex{3, 5}, Universe: -1}}})
		a.job.Ranged()
		_, err := a.job.newWorld(0, overlay.World{Size: 2, KVSName: "k", Apps: make([]job.App, 1), Blocks: []job.Block{{Host: 3, First: 0, Count: 1}, {Host: 5, First: 1, Count: 1}}, Depth: x.depth, Clusters: x.clusters}, false)
		require.EqualError(t, err, want)
	}
}
