package jobs

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// Ranks 0 and 1 wait in MPI_Init, 2 and 3 have ended, 4 has only begun, 5 does
// something else, 6 has begun and ended.
func TestWhoKeepsOthersInInit(t *testing.T) {
	a, w, said := nodeOf(t, lostWarden{})
	w.ranks = nil
	for i := range 7 {
		w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: job.Rank(i), Fencing: i < 2, Exited: i == 2 || i == 3 || i == 6}})
	}
	served(t, a, w)
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(poller.Close)
	a.poller = poller
	for _, i := range []int{0, 1, 4, 6} {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		require.NoError(t, err)
		t.Cleanup(func() { syscall.Close(fds[1]) })
		require.NoError(t, w.giveSocket(w.ranks[i], fds[0]))
		_, err = syscall.Write(fds[1], []byte("cmd=init pmi_version=1 pmi_subversion=1\n"))
		require.NoError(t, err)
		w.hear(&w.ranks[i].Rank)
	}
	want := overlay.Wait{ID: overlay.InitOf(0), Missing: []overlay.WaitRun{{First: 5, Count: 1}},
		Begun: []overlay.WaitRun{{First: 4, Count: 1}}, Ended: []overlay.WaitRun{{First: 2, Count: 2}}, Left: []overlay.WaitRun{{First: 6, Count: 1}}}
	require.Equal(t, want, a.job.stalls.outOfInit(overlay.InitOf(0)))
	require.Equal(t, overlay.Wait{ID: overlay.InitOf(9)}, a.job.stalls.outOfInit(overlay.InitOf(9)), "a world that is not here")

	a.common.StallAfter = 1 << 40 // no clock looks
	for range looksToStall {
		a.job.stalls.look()
	}
	require.Empty(t, a.job.stalls.ownWaits(overlay.WaitQuestion{}).Waits)
	a.job.stalls.look()
	require.Equal(t, overlay.KindStalled, (<-said).Header.Kind)
	require.Equal(t, []overlay.Wait{{ID: overlay.InitOf(0)}}, a.job.stalls.ownWaits(overlay.WaitQuestion{}).Waits)
	require.Equal(t, []overlay.Wait{want}, a.job.stalls.ownWaits(overlay.WaitQuestion{Of: []overlay.WaitID{want.ID}}).Waits)

	w.ranks[5].Fencing = true // one more has come: the others may come, too
	a.job.stalls.look()
	require.Empty(t, a.job.stalls.ownWaits(overlay.WaitQuestion{}).Waits)
	require.Len(t, a.job.stalls.ownWaits(overlay.WaitQuestion{Now: true}).Waits, 1)
	w.fences++
	require.Empty(t, a.job.stalls.ownWaits(overlay.WaitQuestion{Now: true}).Waits)
	require.Empty(t, a.job.stalls.outOfInit(overlay.InitOf(0)).Ended)

	// Later fences tell who has ended, and who has not come.
	fence := overlay.WaitID{Fence: true}
	require.Equal(t, overlay.Wait{ID: fence, Missing: []overlay.WaitRun{{First: 4, Count: 1}}, Ended: []overlay.WaitRun{{First: 2, Count: 2}, {First: 6, Count: 1}}},
		a.job.stalls.outOf(fence))
}
