package pmi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// fail has the fences of a node's ranks fail.
func (w *world) fail(n *node, why string) {
	n.server.FencesFail(why, &n.out)
	w.settle(n)
}

// TestFencesFail has ranks wait in fences of each form that will not be complete: each is
// told so once, and goes on with what it has sent ahead.
func TestFencesFail(t *testing.T) {
	const why = "rank 3 on n2 has ended"
	w := newWorld(t, 2, 2, newer).init12()
	w.send(0, "cmd=barrier_in\n"+get("PMI_process_mapping")+"\n")
	w.send(1, group("WORLD:0")+"\n"+group("WORLD:0")+"\n")
	require.Empty(t, w.take(0)+w.take(1))
	require.True(t, w.nodes[0].server.Fencing())
	w.fail(w.nodes[0], why)
	require.Equal(t, "cmd=barrier_out rc=-1 msg=rank_3_on_n2_has_ended\ncmd=get_result rc=0 value="+mapping(t, w), w.take(0))
	require.Equal(t, "cmd=barrier_out tag=0 rc=-1 msg=rank_3_on_n2_has_ended\ncmd=barrier_out tag=0 rc=-1 msg=rank_3_on_n2_has_ended", w.take(1))
	require.False(t, w.nodes[0].server.Fencing())
	require.Equal(t, pmi.InInit, w.nodes[0].server.Phase(0), "none was complete")
	w.fail(w.nodes[0], why)
	require.Empty(t, w.take(0)+w.take(1), "nobody waits")
	require.Equal(t, "cmd=finalize_ack", w.ask(0, "cmd=finalize"))

	w = newWorld(t, 1, 4, nil).start2()
	for r, text := range []string{fence2, "cmd=kvs-fence;thrid=7;", "cmd=ring;ring-count=1;ring-left=a;ring-right=b;"} {
		require.Empty(t, w.ask2(job.Rank(r), text))
	}
	w.fail(w.nodes[0], why)
	for r, head := range []string{"cmd=kvs-fence-response;", "cmd=kvs-fence-response;thrid=7;", "cmd=ring-response;"} {
		require.Equal(t, frame(head+"rc=-1;errmsg=rank_3_on_n2_has_ended;"), w.take(job.Rank(r)))
	}
	require.Empty(t, w.violations)
}

// mapping returns the process mapping of a world, with what another rank is told.
func mapping(t *testing.T, w *world) string {
	line := w.ask(2, get("PMI_process_mapping"))
	require.Contains(t, line, "value=")
	return line[len("cmd=get_result rc=0 value="):]
}
