package launcher

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/tree"
)

// from is a message of the root agent.
func from(kind tree.Kind, body any) overlay.Message {
	return overlay.Message{Stream: link.Service, Header: tree.Header{Kind: kind}, Value: body}
}

// A host that dies while agents are being started for a spawn, and has told that
// it was ready, is one more that could not be started: the job goes on.
func TestHostsDieWhileTheJobGrows(t *testing.T) {
	p, err := NewPlan(options(t, "a,b,c", 1), "here")
	require.NoError(t, err)
	r := &testRun{run: &run{plan: p.withUnused()}}
	r.join()
	r.agents = &Tree{job: r.run, up: true, growing: &growth{first: 1}}
	dead := []overlay.DeadHost{{Index: 2, Cause: "power"}}
	require.NoError(t, r.agents.message(from(overlay.KindDied, overlay.Died{Dead: dead})))
	require.Nil(t, r.verdict.cause())
	require.Equal(t, dead, r.agents.growing.died)
}

// What a job may do without when it begins, a spawn that was placed may not.
func TestHostsForASpawnHaveTheirTime(t *testing.T) {
	p, err := NewPlan(options(t, "a,b", 1), "here")
	require.NoError(t, err)
	r := &testRun{run: &run{plan: p, report: &reporter{w: io.Discard}}}
	r.join()
	r.agents = newTree(r.run, r.report)
	r.tree = r.agents
	r.agents.ctx, r.agents.hosts = t.Context(), p.Hosts
	r.agents.boot = &boot{common: overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute, MissAfter: time.Second}}}
	p.kind = registry.Local() // which has nothing to open
	r.grow(p.Unused, overlay.SpawnRequest{})
	r.agents.tasks.Wait()
	require.Equal(t, overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}, r.agents.growing.opening.common)
}

// The root and the agents that it starts for a spawn hear how deep the tree is with these:
// those above give those below longer to end than these need.
func TestASpawnsHostsCountAsLevels(t *testing.T) {
	tr := newTree(nil, &reporter{w: io.Discard})
	common := overlay.Common{Degree: 2, Levels: 1}
	sink := func(tree.Header, []byte) {}
	tr.subtree = overlay.NewSubtree(overlay.NewStarter(t.Context(), nil, nil, common, tr.inbox, nil), common, tr.inbox, func(tree.Slot) overlay.Sink { return sink })
	near, far := memlink.Pair()
	defer far.Close()
	hosts := make([]overlay.HostEntry, 5) // the root is above two of whom each is above one
	for i := range hosts {
		hosts[i].Index = job.HostIndex(i)
	}
	tr.subtree.Join(overlay.Joined{Link: near, Host: hosts[0]})
	tr.growing = &growth{first: 1, opening: &boot{common: common, hosts: hosts}}
	tr.growthReady(growthReady{})
	frame, err := far.Recv(link.KVS)
	require.NoError(t, err)
	h, body, err := tree.ParseHeader(frame)
	require.NoError(t, err)
	require.Equal(t, overlay.KindGrow, h.Kind)
	told, err := overlay.Decode[overlay.Range](body)
	require.NoError(t, err)
	require.Equal(t, 3, told.Levels)
}

// Counters are the last that the launcher hears: it must not take some for the
// end of a job that runs.
func TestCountersThatNobodyAskedFor(t *testing.T) {
	r := &run{}
	r.join()
	require.ErrorContains(t, r.Message(from(overlay.KindCollected, report.Collected{})), "nobody asked for")
	require.False(t, r.over)
	r.account.asked = true
	require.NoError(t, r.Message(from(overlay.KindCollected, report.Collected{})))
	require.True(t, r.over)
}

func TestStartFailuresOfRanksThatDoNotExist(t *testing.T) {
	p, err := NewPlan(options(t, "a,b", 2), "here")
	require.NoError(t, err)
	w := &world{plan: p, by: &overlay.SpawnRequest{Spawn: *spawnOf(2)}}
	r := &run{plan: p}
	r.join()
	codes, err := r.worlds.startFailures(w, []overlay.StartFailure{{First: 1, Count: 1, Code: 127, Text: "not found"}})
	require.ErrorContains(t, err, "1 process was not started: on a: not found")
	require.Equal(t, []int{0, 127}, codes)
	for _, f := range []overlay.StartFailure{{First: -1, Count: 1}, {First: 1, Count: 2}, {Count: 1 << 62}, {First: 1, Count: -1}, {}} {
		_, err := r.worlds.startFailures(w, []overlay.StartFailure{f})
		require.ErrorContains(t, err, "which do not exist")
	}
}

// Of a rank that was lost with its node no end of output comes: what it wrote of
// its last line is printed when there is no more of anything.
func TestTheLastLineOfALostRank(t *testing.T) {
	o := options(t, "a,b", 2)
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	r := &run{plan: p}
	r.join()
	r.tree = newTree(r, nil)
	var stdout strings.Builder
	r.output.printer, err = newPrinter(*o, p, "job", IO{Stdout: &stdout, Stderr: &strings.Builder{}}, &reporter{w: io.Discard})
	require.NoError(t, err)
	require.NoError(t, r.output.printer.prepare(0, p))
	r.output.take(tree.Header{Kind: overlay.KindOutput}, overlay.AppendChunk(nil, job.RankID{Rank: 1}, stdio.Stdout, []byte("so far")))
	require.Empty(t, stdout.String())
	r.output.take(tree.Header{Kind: overlay.KindDrained}, nil)
	require.Equal(t, "so far", strings.TrimSuffix(stdout.String(), "\n"))
}
