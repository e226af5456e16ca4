package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// TestDamagedLaunch has a launch whose blocks of ranks do not fit each other: what is wrong is
// said, instead of ranks being taken for agents.
func TestDamagedLaunch(t *testing.T) {
	block := func(host job.HostIndex, first job.Rank, count int) job.Block {
		return job.Block{Host: host, First: first, Count: count}
	}
	for name, x := range map[string]struct {
		blocks []job.Block
		want   string
	}{
		"as it should be":    {[]job.Block{block(3, 0, 2), block(5, 2, 1), block(3, 3, 1)}, ""},
		"too few ranks":      {[]job.Block{block(3, 0, 2), block(5, 2, 1)}, "it is said where 3 of 4 ranks are"},
		"no ranks":           {nil, "0 of 4 ranks"},
		"too many":           {[]job.Block{block(3, 0, 2), block(5, 2, 3)}, "ranks 2+3 of app 0 do not exist"},
		"a gap":              {[]job.Block{block(3, 0, 2), block(5, 3, 1)}, "ranks 3+1 where rank 2 should follow"},
		"twice":              {[]job.Block{block(3, 0, 2), block(5, 0, 2)}, "ranks 0+2 where rank 2 should follow"},
		"out of order":       {[]job.Block{block(3, 2, 2), block(5, 0, 2)}, "ranks 2+2 where rank 0 should follow"},
		"an empty block":     {[]job.Block{block(3, 0, 4), block(5, 4, 0)}, "ranks 4+0"},
		"a host that is not": {[]job.Block{block(3, 0, 2), block(4, 2, 2)}, "host 4, which is no node"},
	} {
		a := &Agent{self: overlay.HostEntry{Index: 3}, family: &overlay.Family{}, launch: &overlay.Launch{Nodes: []job.HostIndex{3, 5}}}
		w, err := a.newWorld(0, overlay.World{Size: 4, Apps: make([]job.App, 1), Blocks: x.blocks})
		if a.first = w; err == nil {
			err = a.openService()
		}
		if x.want == "" {
			require.NoError(t, err, name)
			require.NotNil(t, a.service.node, name)
			continue
		}
		require.ErrorContains(t, err, x.want, name)
	}
}
