package servepmgr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
)

// Of each rank that has checked in it is told in which operation it waits.
func TestWhatRanksWaitFor(t *testing.T) {
	n, servers := newWorld(t, 3)
	dial(t, servers[0], version, 0, opBarrier)
	dial(t, servers[0], version, 1)
	calls := func() map[job.Rank]serve.Call {
		calls := servers[0].Calls()
		for r, c := range calls {
			require.False(t, c.Since.IsZero())
			calls[r] = serve.Call{Text: c.Text, Waits: c.Waits}
		}
		return calls
	}
	n.Run(func() bool { return len(calls()) == 2 && calls()[0].Waits })
	require.Equal(t, map[job.Rank]serve.Call{0: {Text: "in a barrier of PMGR", Waits: true}, 1: {Text: "in no call of PMGR"}}, calls())
}
