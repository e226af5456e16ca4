package jobs

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// A command that finds the warden dead is not the fault of the parent that gave
// it: the node reports what it has lost and stays in the tree.
func TestACommandFindsTheWardenDead(t *testing.T) {
	for name, command := range map[string]func(a *testNode, w *world) error{
		"signal":    func(a *testNode, _ *world) error { return a.job.Signal(overlay.Signal{Number: int(syscall.SIGUSR1)}) },
		"end world": func(a *testNode, w *world) error { return a.job.endWorld(w) },
	} {
		t.Run(name, func(t *testing.T) {
			a, w, said := nodeOf(t, lostWarden{})
			require.NoError(t, command(a, w))
			require.True(t, a.end.WardenGone())
			require.False(t, a.end.Over())
			m := <-said
			require.Equal(t, overlay.KindFailure, m.Header.Kind)
			f, err := overlay.Decode[job.Failure](m.Body)
			require.NoError(t, err)
			require.Contains(t, f.Text, errGone.Error())
			require.Equal(t, overlay.KindDone, (<-said).Header.Kind)
		})
	}
}
