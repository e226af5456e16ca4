package servepmix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
)

// What the helper has told of ranks is known: that all of a node are in a fence, that
// some meet, look a name up or spawn, and that one of them wants what another has put.
func TestWhatRanksWaitFor(t *testing.T) {
	n := newNet(t, 3, 1)
	n.begin()
	s, f := n.nodes[0].server, n.nodes[0].fake()
	proc := func(rank uint32) pmix.Proc { return pmix.Proc{Namespace: "kvs", Rank: rank} }
	calls := func() map[job.Rank]serve.Call {
		calls := s.Calls()
		for r, c := range calls {
			require.False(t, c.Since.IsZero())
			calls[r] = serve.Call{Text: c.Text, Waits: c.Waits}
		}
		return calls
	}
	all := func(c serve.Call) map[job.Rank]serve.Call { return map[job.Rank]serve.Call{0: c, 1: c, 2: c} }
	until := func(want map[job.Rank]serve.Call) {
		n.Settle()
		require.Equal(t, want, calls())
	}
	require.Empty(t, calls())
	for rank := range uint32(3) {
		f.say(0, pmix.Client{Proc: proc(rank)})
	}
	const local = ", in no call of PMIx that all ranks of its node have made"
	until(all(serve.Call{Text: "in MPI_Init" + local}))
	f.say(1, pmix.Fence{Procs: whole})
	until(all(serve.Call{Text: "in MPI_Init: in PMIx's fence number 1 of the world", Waits: true}))
	n.nodes[1].fake().say(1, pmix.Fence{Procs: whole})
	running := serve.Call{Text: "between MPI_Init and MPI_Finalize" + local}
	until(all(running))
	f.say(2, pmix.Fence{Procs: whole})
	until(all(serve.Call{Text: "in MPI_Finalize, or at the end of MPI_Init: in PMIx's fence number 2 of the world", Waits: true}))
	n.nodes[1].fake().say(2, pmix.Fence{Procs: whole})
	until(all(running))

	f.say(3, pmix.Modex{Proc: proc(3)})
	f.say(4, pmix.Lookup{Proc: proc(1), Keys: []string{"k"}, Wait: 1})
	f.say(5, pmix.Connect{Procs: []pmix.Proc{proc(2), proc(3)}})
	wants := serve.Call{Text: running.Text + ", while it or another rank of its node wants what rank 3 has put", Waits: true}
	until(map[job.Rank]serve.Call{0: wants,
		1: {Text: "in MPI_Lookup_name or MPI_Comm_connect (PMIx_Lookup)", Waits: true},
		2: {Text: "in PMIx_Connect, as of MPI_Comm_connect, MPI_Comm_accept and MPI_Comm_spawn", Waits: true}})
	f.say(0, pmix.Client{Proc: proc(0), Finalized: true})
	n.Settle()
	require.Equal(t, serve.Call{Text: "past MPI_Finalize"}, calls()[0])
}
