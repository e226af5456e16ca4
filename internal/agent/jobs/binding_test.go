package jobs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// boundWorld is an agent of a host with so many ranks of a world, of which CPUs are
// named for some.
func boundWorld(bindTo string, ranks int, slots map[job.Rank]string) (*testNode, *world) {
	w := &world{spec: overlay.World{Size: ranks, Slots: slots, Blocks: []job.Block{{Host: 3, Count: ranks}}}}
	for i := range ranks {
		w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: job.Rank(i)}})
	}
	a := joined(&testNode{self: overlay.HostEntry{Index: 3}, job: &Job{launch: &overlay.Launch{ShareCPUs: true}, worlds: map[int]*world{0: w}}})
	a.common.BindTo = bindTo
	return a, w
}

// A rank for which the user names CPUs has these, whatever the others have; they take
// what it has left.
func TestNamedCPUs(t *testing.T) {
	ours, err := unix.Affinity(0)
	require.NoError(t, err)
	first, last := ours[:1], ours[len(ours)-1:]
	named := map[job.Rank]string{1: binding.Format(first)}

	a, w := boundWorld("", 2, named)
	require.NoError(t, a.job.placing.bind(w))
	require.Nil(t, w.ranks[0].cpus)
	require.Equal(t, first, w.ranks[1].cpus)
	require.Equal(t, binding.Format(first), w.ranks[1].record.CPUs)
	require.Equal(t, []string{"MV2_ENABLE_AFFINITY=0"}, bindingEnv(w))

	a, w = boundWorld("cpu-list:"+binding.Format(ours), len(ours), named)
	if len(ours) == 1 {
		a, w = boundWorld("cpu-list:"+binding.Format(ours), 2, named)
	}
	a.job.launch.ReportBindings = true
	require.NoError(t, a.job.placing.bind(w))
	require.Equal(t, first, w.ranks[1].cpus)
	if len(ours) > 1 {
		require.Equal(t, ours[1:2], w.ranks[0].cpus)
	}
	require.Len(t, w.own.Bound, 1)
	require.Regexp(t, fmt.Sprintf(`^CPU %d( \(.*\))?$`, first[0]), w.own.Bound[0].Ranks[1])

	_, w = boundWorld("", 2, map[job.Rank]string{0: "x"})
	require.EqualError(t, a.job.placing.bind(w), `slot=x: "x": expected a list of numbers below 65536, such as 0-3,8`)
	_, w = boundWorld("", 2, map[job.Rank]string{0: binding.Format(last), 1: "65000"})
	err = a.job.placing.bind(w)
	require.ErrorContains(t, err, "slot=65000: CPU 65000 is not the job's to use there")
	require.Equal(t, job.Rank(1), err.(*placeError).rank) //nolint:errorlint // its own type
}

// Ranks that are counted for the nodes of one machine are those without CPUs of their
// own, in the order of nodes, whatever the order of their blocks.
func TestRanksBeforeANode(t *testing.T) {
	w := &world{spec: overlay.World{Slots: map[job.Rank]string{0: "0", 5: "1"}, Blocks: []job.Block{
		{Host: 1, First: 0, Count: 2}, {Host: 0, First: 2, Count: 2}, {Host: 2, First: 4, Count: 3},
	}}}
	for host, want := range [][2]int{{0, 5}, {2, 5}, {3, 5}} {
		before, all := w.unnamed(job.HostIndex(host))
		require.Equal(t, want, [2]int{before, all}, host)
	}
}
