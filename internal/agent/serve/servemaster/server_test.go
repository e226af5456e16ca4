package servemaster_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servemaster"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// bring starts a server on each node of a chain, which hold so many ranks, and says
// what they are ready with.
func bring(t *testing.T, launch *overlay.Launch, perNode ...int) (n *servetest.Net, envs func() [][]string) {
	n = servetest.New(t, 3, launch, perNode...)
	for _, x := range n.Nodes {
		x.Servers = append(x.Servers, servemaster.New(x.World))
	}
	n.Start()
	return n, func() (all [][]string) {
		n.Settle()
		for _, x := range n.Nodes {
			all = append(all, x.Servers[0].Env(nil))
		}
		return all
	}
}

func TestAllNodesAreToldTheSamePlace(t *testing.T) {
	n, envs := bring(t, nil, 2, 0, 3, 1)
	all := envs()
	require.Len(t, all[0], 2)
	require.Equal(t, "MASTER_ADDR=127.0.0.1", all[0][0])
	require.Regexp(t, `^MASTER_PORT=[1-9]\d*$`, all[0][1])
	for _, env := range all[1:] {
		require.Equal(t, all[0], env)
	}
	require.Nil(t, n.Nodes[0].Servers[0].Env(n.Nodes[0].Ranks[0]), "it is the same for all ranks")
}

func TestRanksWaitForThePlace(t *testing.T) {
	n := servetest.New(t, 3, nil, 0, 1, 2)
	var ready []bool
	for i, x := range n.Nodes {
		s := servemaster.New(x.World)
		ready = append(ready, false)
		require.NoError(t, s.Start())
		s.Open(func(err error) {
			require.NoError(t, err)
			ready[i] = true
		})
		x.Servers = append(x.Servers, s)
	}
	require.Equal(t, []bool{false, true, false}, ready, "rank 0's node knows it at once")
	n.Settle()
	require.Equal(t, []bool{true, true, true}, ready)
}

func TestWhatTheUserSetsCounts(t *testing.T) {
	launch := &overlay.Launch{Env: []string{"MASTER_ADDR=elsewhere", "MASTER_PORTS=1"}}
	_, envs := bring(t, launch, 1, 1)
	for _, env := range envs() {
		require.Len(t, env, 1)
		require.True(t, strings.HasPrefix(env[0], "MASTER_PORT="))
	}
}

func TestANodeThatSaysNonsenseIsRefused(t *testing.T) {
	n := servetest.New(t, 3, nil, 1, 1)
	s := servemaster.New(n.Nodes[1].World)
	say := func(text string) error {
		m := overlay.Message{Header: tree.Header{Kind: overlay.KindMaster, Job: job.Cold}, Body: []byte(text)}
		return s.Message(serve.Message{Message: m, Neighbor: serve.Parent})
	}
	require.ErrorContains(t, say("n1:http"), "place to meet of world 3")
	require.NoError(t, say(""), "no place is known")
	require.ErrorContains(t, say("10.0.0.1:99"), "a second place to meet of world 3")
	require.Empty(t, s.Env(nil))

	// Only who is on the way to rank 0 can know.
	n = servetest.New(t, 3, nil, 1, 1, 1)
	for node, from := range map[int]serve.Neighbor{0: 0, 1: 0} {
		m := overlay.Message{Header: tree.Header{Kind: overlay.KindMaster, Job: job.Cold}, Body: []byte("10.0.0.1:99")}
		s := servemaster.New(n.Nodes[node].World)
		require.ErrorContains(t, s.Message(serve.Message{Message: m, Neighbor: from}), "whose rank 0 is elsewhere")
		require.Empty(t, s.Env(nil))
	}
}
