package jobs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// waitingWorld is a world of which one program's loader has not answered.
func waitingWorld(t *testing.T) (*testNode, *world, <-chan overlay.Message, *[]proc.Spec) {
	var launched []proc.Spec
	a, w, said := nodeOf(t, willingWarden{launched: &launched})
	w.spec.Apps, w.spec.Size = []job.App{{Argv: []string{"app"}, Env: []string{"LD_PRELOAD=own.so"}}}, 1
	w.ranks = []*rank{{world: w}}
	w.byRank = map[job.Rank]*rank{0: w.ranks[0]}
	w.launched, w.unborn = false, 1
	a.end, a.job.end = agenttest.EndOf(1, 0)
	w.started.Merge = (*overlay.Started).Merge
	w.started.Expect(1)
	w.mpi, a.job.starting = &fakeLibraries{waits: true}, w
	a.job.startIf()
	require.Empty(t, launched)
	require.False(t, w.launched)
	return a, w, said, &launched
}

// Ranks start when it is known what they need.
func TestRanksStartWhenTheLoaderHasAnswered(t *testing.T) {
	a, w, _, launched := waitingWorld(t)
	loaderSays(a, w)
	require.True(t, w.launched)
	require.Len(t, *launched, 1)
}

// loaderSays has the loader of the world's program answer.
func loaderSays(a *testNode, w *world) {
	w.mpi = &fakeLibraries{}
	atMPI{station{j: a.job}}.Learned()
}

// Ranks that cannot have what their MPI needs do not start, and the reason is told.
func TestAWorldThatLacksWhatItsMPINeeds(t *testing.T) {
	a, w, said, launched := waitingWorld(t)
	w.mpi = &fakeLibraries{lacking: errors.New("app needs PMIx: not built")}
	a.job.startIf()
	require.True(t, w.launched)
	require.Empty(t, *launched)
	m := <-said
	require.Equal(t, overlay.KindFailure, m.Header.Kind)
	f, err := overlay.Decode[job.Failure](m.Body)
	require.NoError(t, err)
	require.Equal(t, "app needs PMIx: not built", f.Text)
	require.Equal(t, job.CauseStart, f.Class)
}

// A job that ends while a loader is asked does not wait for it.
func TestTheEndDoesNotWaitForALoader(t *testing.T) {
	for name, end := range map[string]func(*testNode, *world) error{
		"of the job":   func(a *testNode, _ *world) error { a.job.Kill(0); return nil },
		"of the world": func(a *testNode, w *world) error { return a.job.endWorld(w) },
	} {
		t.Run(name, func(t *testing.T) {
			a, w, said, launched := waitingWorld(t)
			require.NoError(t, end(a, w))
			require.Zero(t, a.job.end.Living())
			kinds := map[string]bool{}
			for range 2 {
				switch m := <-said; m.Header.Kind {
				case overlay.KindStarted:
					kinds["started"] = true
				case overlay.KindDone:
					d, err := overlay.Decode[overlay.Done](m.Body)
					require.NoError(t, err)
					require.Equal(t, overlay.Done{Ended: 1, Never: 1}, d)
					kinds["done"] = true
				}
			}
			require.Len(t, kinds, 2)
			loaderSays(a, w) // late
			require.Empty(t, *launched)
		})
	}
}
