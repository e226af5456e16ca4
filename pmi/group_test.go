package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

func group(g string) string { return "cmd=barrier_in group=" + g }

func newer(w *pmi.World) { w.Version = "1.2" }

func (w *world) init12() *world {
	for r := range len(w.nodes) * w.ppn {
		require.Equal(w.t, "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0", w.ask(job.Rank(r), initLine))
	}
	return w
}

func TestGroupBarriers(t *testing.T) {
	w := newWorld(t, 2, 2, newer).init12()
	// On one node, while other requests go on and the world's barrier too.
	require.Empty(t, w.ask(0, group("NODE:5")))
	require.Empty(t, w.ask(0, group("1,0:7")))
	require.Empty(t, w.ask(0, group("WORLD:0")))
	require.Equal(t, putOK, w.ask(0, put("k", "v")))
	require.Equal(t, "cmd=barrier_out tag=7", w.ask(1, group("0,1:7")))
	require.Equal(t, "cmd=barrier_out tag=7", w.take(0))
	require.Equal(t, value("v"), w.ask(1, get("k")))
	require.Equal(t, "cmd=barrier_out tag=5", w.ask(1, group("NODE:5")))
	require.Equal(t, "cmd=barrier_out tag=5", w.take(0))
	require.Equal(t, pmi.Running, w.nodes[0].server.Phase(0))
	// The world, bare and tagged, is one barrier.
	w.send(1, "cmd=barrier_in\n")
	w.send(2, group("WORLD:0")+"\n")
	require.Empty(t, w.take(2))
	require.Equal(t, "cmd=barrier_out tag=0", w.ask(3, group("WORLD")))
	require.Equal(t, "cmd=barrier_out tag=0", w.take(0))
	require.Equal(t, "cmd=barrier_out", w.take(1))
	require.Equal(t, "cmd=barrier_out tag=0", w.take(2))
	require.Equal(t, value("v"), w.ask(3, get("k")))
	// Across nodes, entered in different orders, and again before completion.
	for _, r := range []job.Rank{0, 3} {
		require.Empty(t, w.ask(r, group("WORLD:9")))
	}
	w.send(0, group("0,3:1")+"\n"+group("0,3:1")+"\n")
	require.Empty(t, w.take(0))
	require.Equal(t, "cmd=barrier_out tag=1", w.ask(3, group("3,0:1")))
	require.Equal(t, "cmd=barrier_out tag=1", w.take(0))
	require.Equal(t, "cmd=barrier_out tag=1", w.ask(3, group("3,0,0:1")))
	require.Equal(t, "cmd=barrier_out tag=1", w.take(0))
	require.Empty(t, w.ask(1, group("WORLD:9")))
	require.Equal(t, "cmd=barrier_out tag=9", w.ask(2, group("WORLD:9")))
	for _, r := range []job.Rank{0, 1, 3} {
		require.Equal(t, "cmd=barrier_out tag=9", w.take(r))
	}
	require.Empty(t, w.violations)
}

func TestGroupBarrierErrors(t *testing.T) {
	w := newWorld(t, 1, 3, newer).init12()
	for spec, want := range map[string]string{
		"1,2:0": "tag=0 rc=-1 msg=bad_group", "0,9:3": "tag=3 rc=-1 msg=bad_group", "0,x:3": "tag=3 rc=-1 msg=bad_group",
		":1": "tag=1 rc=-1 msg=bad_group", "0,-1:1": "tag=1 rc=-1 msg=bad_group",
		"NODE:x": "rc=-1 msg=bad_tag", "WORLD:-1": "rc=-1 msg=bad_tag", "0,1:": "rc=-1 msg=bad_tag",
	} {
		require.Equal(t, "cmd=barrier_out "+want, w.ask(0, group(spec)), spec)
	}
	w.send(0, group("NODE:1")+"\n")
	w.eof(0)
	w.ask(1, group("NODE:1"))
	require.Equal(t, "cmd=barrier_out tag=1", w.ask(2, group("NODE:1")), "it had entered")
	require.Empty(t, w.take(0))
	for i := range 1025 {
		w.send(1, group(fmt.Sprint("NODE:", i))+"\n")
	}
	require.ErrorContains(t, w.violations[0], "rank 1: PMI: more than 1024 requests wait for other ranks")
	w = newWorld(t, 1, 2, newer).init12()
	w.send(0, strings.Repeat(group("WORLD:0")+"\n", 1025))
	require.ErrorContains(t, w.violations[0], "more than 1024 requests wait")

	old := newWorld(t, 1, 1, nil).init()
	require.Equal(t, "cmd=barrier_out rc=-1 msg=group_barriers_need_PMI_1.2", old.ask(0, group("NODE:0")))
}
