package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/ledger"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// inShare has an agent take part in an allocation with some slots on its node.
func inShare(t *testing.T, a *testNode, allocation string, has int) {
	t.Helper()
	entry, err := ledger.Open(allocation, "n")
	require.NoError(t, err)
	t.Cleanup(entry.Close)
	a.job.share.has, a.job.share.entry = has, entry
}

// Two jobs claim slots of a node, CPUs and GPUs: each has its own, and what one gives back
// the other can have.
func TestClaims(t *testing.T) {
	allocation := t.Name() + t.TempDir() // no other test's
	a, w := gpuWorld(1, nil)
	b, other := gpuWorld(1, nil)
	inShare(t, a, allocation, 5)
	inShare(t, b, allocation, 5)
	two := overlay.Share{Has: 5, Slots: 2, GPUs: 1}
	three := overlay.Share{Has: 5, Slots: 3, GPUs: 1}
	require.Equal(t, overlay.Shared{Slots: 2, Free: 4}, a.job.share.claim(two, fourGPUs(), nil), "4 GPUs, 5 slots")
	require.Equal(t, overlay.Shared{Slots: 0, Free: 2}, b.job.share.claim(three, fourGPUs(), nil), "all or nothing")
	require.Equal(t, ledger.Use{}, b.job.share.entry.Own())
	require.Equal(t, overlay.Shared{Slots: 3, Free: 3}, b.job.share.claim(overlay.Share{Has: 5, Slots: 3}, fourGPUs(), nil), "without GPUs")
	require.Equal(t, overlay.Shared{Slots: 2, Free: 2}, b.job.share.claim(two, fourGPUs(), nil))
	require.Equal(t, overlay.Shared{Slots: 0, Free: 3}, a.job.share.claim(overlay.Share{Has: 5, Slots: 9, GPUs: 0}, fourGPUs(), nil), "more than there are")
	require.Equal(t, overlay.Shared{Slots: 2, Free: 2}, a.job.share.claim(two, fourGPUs(), nil))

	w.living, other.living = 2, 2
	require.NoError(t, a.job.placing.giveParts(w, fourGPUs(), nil))
	require.NoError(t, b.job.placing.giveParts(other, fourGPUs(), nil))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=1"}}, gpuEnvs(w))
	require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=2"}, {"CUDA_VISIBLE_DEVICES=3"}}, gpuEnvs(other))

	// A spawned world has what is left, and no more; its end gives it back.
	_, spawned := gpuWorld(0, nil)
	spawned.id, spawned.spawned, spawned.living = 1, true, 1
	a.job.launch.GPUsPerRank, b.job.launch.GPUsPerRank = 0, 0
	a.job.worlds[1] = spawned
	require.NoError(t, a.job.placing.giveParts(spawned, fourGPUs(), nil))
	require.Equal(t, 3, a.job.share.entry.Own().Slots)
	_, late := gpuWorld(0, nil)
	late.id, late.spawned, late.living = 1, true, 1
	b.job.worlds[1] = late
	require.EqualError(t, b.job.placing.giveParts(late, fourGPUs(), nil),
		"not enough free slots: other golaunch of the allocation use 3 of 5 on this host; --overlap shares them")
	spawned.living, spawned.ranks[0].Exited = 0, true
	a.job.placing.giveBack(spawned)
	require.Equal(t, 2, a.job.share.entry.Own().Slots)
	require.NoError(t, b.job.placing.giveParts(late, fourGPUs(), nil))
}

// A ledger that fails later, as where the disk is full, hinders no launch.
func TestLedgerFails(t *testing.T) {
	for _, before := range []bool{true, false} {
		a, w := gpuWorld(1, nil)
		inShare(t, a, t.Name()+t.TempDir(), 5)
		w.living = 2
		tells, _, _ := nodeOf(t, nil)
		a.parent = tells.parent
		two := overlay.Share{Has: 5, Slots: 2, GPUs: 1}
		require.Equal(t, overlay.Shared{Slots: 2, Free: 4}, a.job.share.claim(two, fourGPUs(), nil))
		a.job.share.file().Close()
		if before {
			got := a.job.share.claim(two, fourGPUs(), nil)
			require.Contains(t, got.Unknown, "file already closed")
			require.Equal(t, 2, got.Slots)
		}
		require.NoError(t, a.job.placing.giveParts(w, fourGPUs(), nil))
		require.Equal(t, [][]string{{"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=1"}}, gpuEnvs(w))
		require.Contains(t, a.job.share.unknown, "file already closed")
	}
}

func TestClaimsOfCPUs(t *testing.T) {
	ours, err := unix.Affinity(0)
	require.NoError(t, err)
	allocation := t.Name() + t.TempDir()
	list := "cpu-list:" + binding.Format(ours)
	a, w := boundWorld(list, 1, nil)
	b, other := boundWorld(list, len(ours), nil)
	a.job.launch.ShareCPUs, b.job.launch.ShareCPUs = false, false
	inShare(t, a, allocation, 2*len(ours))
	inShare(t, b, allocation, 2*len(ours))
	one, all := overlay.Share{Slots: 1, CPUs: true}, overlay.Share{Slots: len(ours), CPUs: true}
	require.Equal(t, overlay.Shared{Slots: 1, Free: len(ours)}, a.job.share.claim(one, nil, nil))
	require.Equal(t, overlay.Shared{Slots: 0, Free: len(ours) - 1}, b.job.share.claim(all, nil, nil))
	w.living = 1
	require.NoError(t, a.job.placing.giveParts(w, nil, nil))
	require.Equal(t, ours[:1], w.ranks[0].cpus)
	other.ranks, other.living = other.ranks[1:], len(ours)-1
	if len(ours) > 1 {
		require.NoError(t, b.job.placing.giveParts(other, nil, nil))
		require.Equal(t, ours[1:2], other.ranks[0].cpus)
	}
	more := overlay.Share{Slots: len(ours) + 1, CPUs: true}
	require.Equal(t, len(ours)+1, a.job.share.claim(more, nil, nil).Slots, "what the host lacks in any case is the launch's to say")
	none := overlay.Share{CPUs: true}
	require.Equal(t, overlay.Shared{Free: len(ours) - 1}, b.job.share.claim(none, nil, nil))
	a.job.share.entry.Close()
	require.Equal(t, overlay.Shared{Free: 2 * len(ours)}, b.job.share.claim(none, nil, nil), "nobody is there to wait for")
}

// An agent takes part where its range says so, and nobody is hindered where that fails.
func TestOpenShare(t *testing.T) {
	a := joined(&testNode{self: overlay.HostEntry{Index: 1, Name: "n", Share: &overlay.Share{Has: 2, Slots: 2}}})
	require.Nil(t, a.job.share.open(), "no allocation")
	a.common.Allocation = t.Name() + t.TempDir()
	require.Equal(t, &overlay.Shared{Slots: 2, Free: 2}, a.job.share.open())
	require.NotNil(t, a.job.share.file())
	a.job.share.close()
	a.job.share.has, a.job.share.entry, a.job.share.unknown = 2, nil, "no directory"
	require.Equal(t, overlay.Shared{Slots: 1, Free: 2, Unknown: "no directory"}, a.job.share.claim(overlay.Share{Slots: 1}, nil, nil))
	require.Nil(t, a.job.share.file())
	a.job.launch = &overlay.Launch{}
	require.EqualError(t, a.job.share.claimAgain(overlay.Claim{Of: []overlay.HostShare{{Host: job.HostIndex(1)}}}), "a claim after the launch")
}
