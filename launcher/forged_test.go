package launcher

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/tree"
)

// hear has the launcher hear one message of its root.
func hear(t *testing.T, r *testRun, agent link.Link, s link.Stream, kind tree.Kind, body any) {
	t.Helper()
	h := tree.Header{Kind: kind, To: tree.Launcher, From: 0}
	if !overlay.OfTree(kind) {
		h.Job = job.Cold
	}
	frame := tree.AppendHeader(nil, h)
	require.NoError(t, agent.Send(s, append(frame, overlay.Encode(body)...)))
	<-r.agents.Woken()
	for _, e := range r.agents.Take(nil) {
		r.handle(e)
	}
}

// A failure that cannot be ends the job, never with exit code 0, and is the fault
// of the agent that tells of it.
func TestForgedFailures(t *testing.T) {
	for name, f := range map[string]job.Failure{
		"a signal that makes 0": {Class: job.CauseSignal, Signal: -128},
		"a start with code 0":   {Class: job.CauseStart},
		"a start with code 256": {Class: job.CauseStart, Code: 256},
		"an unknown class":      {Class: 200, Code: 256},
		"a host that is not":    {Class: job.CauseExit, Code: 1, Host: 1},
		"a rank that is not":    {Class: job.CauseExit, Code: 1, Rank: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, agent := launchedRun(t)
			r.up()
			hear(t, r, agent, link.Control, overlay.KindFailure, f)
			cause := r.verdict.cause()
			require.NotNil(t, cause)
			require.Equal(t, job.ExitLauncher, cause.ExitCode())
			require.Equal(t, job.CauseNodeLost, cause.Class)
			require.Equal(t, job.HostIndex(0), cause.Host)
			require.Contains(t, cause.Text, `protocol error: message "failure"`)
			require.NotZero(t, f.ExitCode(), "wherever it came from")
		})
	}
}

// A spawn by a rank that does not exist is none of the world's, and ends the job
// as every breach does. Where one is taken all the same, it is refused.
func TestForgedSpawns(t *testing.T) {
	for _, rank := range []job.Rank{-1, 2, math.MinInt, math.MaxInt} {
		r, agent := launchedRun(t)
		r.up()
		q := overlay.SpawnRequest{Rank: rank}
		r.worlds.start(q)
		require.Len(t, r.worlds.all, 1)
		hear(t, r, agent, link.Service, overlay.KindSpawn, q)
		cause := r.verdict.cause()
		require.NotNil(t, cause)
		require.Contains(t, cause.Text, `protocol error: message "spawn"`)
	}
}

// A root that says that other hosts are dead is dead itself, and nobody else.
func TestForgedDeaths(t *testing.T) {
	r, agent := launchedRun(t)
	hear(t, r, agent, link.Service, overlay.KindReady, overlay.Ready{
		Live: []overlay.NodeInfo{{}}, Dead: []overlay.DeadHost{{Index: 1, Cause: "so it is said"}}})
	dead := r.agents.Known().Dead
	require.Len(t, dead, 1)
	require.Equal(t, job.HostIndex(0), dead[0].Index)
	require.Contains(t, dead[0].Cause, "another host, which is not below it, is dead")
}

// Ranks that have not ended well, without a failure, make no job that has.
func TestRanksThatNobodyAccountsFor(t *testing.T) {
	for done, ok := range map[overlay.Done]bool{{Ranks: 2}: true, {Ranks: 1, Failed: 1}: false, {Ranks: 1, Ended: 1}: false, {}: false} {
		r, _ := launchedRun(t)
		require.NoError(t, r.unexplained())
		require.NoError(t, r.worlds.noteDone(0, done))
		if ok {
			require.NoError(t, r.unexplained())
		} else {
			require.ErrorContains(t, r.unexplained(), "of 2 ranks ended well")
		}
	}
}

// Only hosts that their sender has lost with it are gone, and the job goes on without
// them where they hold no ranks.
func TestLostSpares(t *testing.T) {
	for name, x := range map[string]struct {
		lost [][2]job.HostIndex
		gone []job.HostIndex // nil where the job does not go on
	}{
		"itself":             {[][2]job.HostIndex{{3, 4}}, []job.HostIndex{3}},
		"with one below":     {[][2]job.HostIndex{{1, 2}, {3, 4}}, []job.HostIndex{1, 3}},
		"with one of ranks":  {[][2]job.HostIndex{{0, 1}, {3, 4}}, nil},
		"nobody says so":     {nil, nil},
		"one being started":  {[][2]job.HostIndex{{3, 5}}, []job.HostIndex{3}},
		"all that hold none": {[][2]job.HostIndex{{1, 4}}, []job.HostIndex{1, 2, 3}},
	} {
		r, _ := launchedRun(t)
		p, err := NewPlan(options(t, "a,b,c,d", 1), "here")
		require.NoError(t, err)
		r.plan = p.withUnused()
		r.worlds.all[0].started = true
		f := job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 3, Lost: x.lost, Text: "lost"}
		require.Equal(t, x.gone, r.idle(f), name)
	}
}

// Wrong messages that the root passes on as they are get dropped, and the user hears
// their sender: the root keeps its link, unless it claims them as its own.
func TestTheRootIsNotBlamedForOthers(t *testing.T) {
	for from, blamed := range map[job.HostIndex]bool{0: true, 1: false} {
		r, _ := launchedRun(t)
		var said strings.Builder
		p, err := NewPlan(options(t, "a,b", 1), "here")
		require.NoError(t, err)
		r.plan, r.report, r.account.profiles = p.withUnused(), &reporter{w: &said}, newProfiles()
		r.up()
		for range 3 {
			r.handle(overlay.Message{Header: tree.Header{Kind: overlay.KindProfile, Job: job.Cold, World: 7, From: from}, Value: profile.Part{}})
		}
		r.notes.tell()
		require.Equal(t, blamed, r.verdict.cause() != nil)
		if !blamed {
			require.Equal(t, "golaunch: host b: its message \"profile\", as relayed by a, was dropped: counters of world 7, which there is not\n", said.String())
		}
	}
}
