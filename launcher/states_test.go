package launcher

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// timedOutRun returns a run whose time is up, of 12 ranks on three hosts and of a
// spawned world of two, and its words.
func timedOutRun(t *testing.T) (*testRun, *bytes.Buffer) {
	var said bytes.Buffer
	r, _ := launchedRun(t)
	r.report, r.options.Ending.Timeout = &reporter{w: &said}, time.Second
	p, err := NewPlan(options(t, "a:4,b:4,c:4", 12), "here")
	require.NoError(t, err)
	two, err := NewPlan(options(t, "a:4,b:4,c:4", 2), "here")
	require.NoError(t, err)
	r.plan = p
	r.worlds.launch(p)
	r.worlds.own.started = true
	r.worlds.all[1] = &world{plan: two, started: true}
	r.timedOut()
	require.Equal(t, "golaunch: the job has not ended within 1s: it is killed\n", said.String())
	said.Reset()
	return r, &said
}

func TestStatesAreTold(t *testing.T) {
	runs := func(ranks ...int) []overlay.WaitRun { return overlay.AppendWaitRuns(nil, ranks) }
	waits := overlay.State{Call: "in MPI_Init", For: overlay.Span{Least: 4, Most: 5}, CPU: overlay.One(0), Kernel: "asleep (ep_poll)", Ranks: runs(0, 2, 3, 4, 5, 6, 7)}
	computes := overlay.State{Call: "before MPI_Init", For: overlay.Unknown, CPU: overlay.Span{Least: 90, Most: 100}, Kernel: "running", Process: "app", Ranks: runs(1)}
	for name, x := range map[string]struct {
		answer overlay.Waits
		want   []string
	}{
		"folded": {overlay.Waits{States: []overlay.State{computes, waits}}, []string{
			"rank 0 on a, ranks 2-3 on a, ranks 4-7 on b: in MPI_Init, for 4-5 s; used 0 % of a processor, asleep (ep_poll)",
			"rank 1 on a: before MPI_Init; its process app used 90-100 % of a processor, running",
		}},
		"a spawned world's, and an ended one": {overlay.Waits{States: []overlay.State{
			{Call: "ended with code 0", For: overlay.Unknown, CPU: overlay.Unknown, Ranks: runs(4)},
			{World: 1, Call: "past MPI_Finalize", For: overlay.One(3), CPU: overlay.One(0), Ranks: runs(1)},
		}}, []string{"rank 4 on b: ended with code 0", "rank 1.1 on a: past MPI_Finalize, for 3 s; used 0 % of a processor"}},
		"of a world that is over, and ranks that are none": {overlay.Waits{States: []overlay.State{
			{World: 2, Call: "x", Ranks: runs(0)}, {Call: "y", Ranks: runs(12, 13)},
		}}, nil},
		"silent hosts": {overlay.Waits{Silent: []job.HostIndex{2, 1}}, []string{
			"hosts b,c do not answer: what ranks do there, and below in the tree, is not known"}},
		"too many": {overlay.Waits{Untold: 7}, []string{"7 further ranks do something else"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, said := timedOutRun(t)
			x.answer.Number = r.stalls.question.Number
			require.NoError(t, r.stalls.take(x.answer))
			want := ""
			for _, line := range x.want {
				want += "golaunch: at that time: " + line + "\n"
			}
			require.Equal(t, want, said.String())
			require.True(t, r.killed, "what it waited for has come")
		})
	}
}

// However many kinds there are, few lines tell of those that most ranks and that fewest
// are of.
func TestManyStatesAreFewLines(t *testing.T) {
	r, said := timedOutRun(t)
	p, err := NewPlan(options(t, "n[001-128]:32", 4096), "here")
	require.NoError(t, err)
	r.plan = p
	r.worlds.launch(p)
	var states []overlay.State
	for kind, rank := 0, 0; rank < 4096; kind++ {
		n := min(kind+1, 4096-rank)
		states = append(states, overlay.State{Call: fmt.Sprint("kind ", kind), Ranks: []overlay.WaitRun{{First: rank, Count: n}}})
		rank += n
	}
	r.stalls.sayStates(overlay.Waits{States: states})
	require.Equal(t, mostStates+1, strings.Count(said.String(), "\n"))
	require.Contains(t, said.String(), "rank 0 on n001: kind 0")
	require.Contains(t, said.String(), ": kind 89,")
	require.Regexp(t, `golaunch: at that time: \d+ further ranks do something else\n$`, said.String())
	require.Less(t, said.Len(), 2000)
}

// A root that does not answer in time is named, and the job ends without it; one that
// has, is not.
func TestASilentRootIsNamed(t *testing.T) {
	r, said := timedOutRun(t)
	r.handle(waitsLate{})
	require.Equal(t, "golaunch: at that time: host a does not answer: what ranks do there, and below in the tree, is not known\n", said.String())
	require.True(t, r.killed)

	r, said = timedOutRun(t)
	require.NoError(t, r.stalls.take(overlay.Waits{Number: r.stalls.question.Number}))
	r.handle(waitsLate{})
	require.Empty(t, said.String())

	// The answer to another question than a stall's names nobody's state.
	r, said = timedOutRun(t)
	r.stalls.timedOut = false
	r.stalls.sayStates(overlay.Waits{States: []overlay.State{{Call: "x", Ranks: []overlay.WaitRun{{First: 0, Count: 1}}}}})
	require.Empty(t, said.String())
}
