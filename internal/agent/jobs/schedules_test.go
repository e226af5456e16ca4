package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// An answer goes one step toward the node that it is for. One for this node, about a
// world that is over, is nothing; about one that never was, a breach.
func TestSchedulesFindTheirWay(t *testing.T) {
	a := joined(&testNode{self: overlay.HostEntry{Index: 0}, inbox: overlay.NewInbox(func() {}), job: &Job{launch: &overlay.Launch{}, newest: 1}})
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, a.inbox, nil)
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, a.inbox, func(tree.Slot) overlay.Sink { return func(tree.Header, []byte) {} })
	near, far := memlink.Pair()
	a.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: overlay.HostEntry{Index: 1}, Rest: []overlay.HostEntry{{Index: 2}}})
	t.Cleanup(func() { far.Close(); a.subtree.Close() })
	want := overlay.ScheduleAnswer{Host: 2, Schedule: overlay.Schedule{World: 5, Algorithm: "ring", Bytes: 8}, Stages: 1, Parts: [][]byte{{0, 2, 8}}}
	require.NoError(t, a.job.services.scheduled(want))
	_, err := far.Recv(link.Service) // its range
	require.NoError(t, err)
	frame, err := far.Recv(link.Service)
	require.NoError(t, err)
	h, body, err := tree.ParseHeader(frame)
	require.NoError(t, err)
	require.Equal(t, overlay.KindScheduled, h.Kind)
	got, err := overlay.Decode[overlay.ScheduleAnswer](body)
	require.NoError(t, err)
	require.Equal(t, want, got)

	for world, ok := range map[int]bool{0: true, 1: true, 2: false} {
		err := a.job.services.scheduled(overlay.ScheduleAnswer{Host: 0, Schedule: overlay.Schedule{World: world}})
		require.Equal(t, ok, err == nil, "world %d: %v", world, err)
	}
}
