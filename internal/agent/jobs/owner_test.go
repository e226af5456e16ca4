package jobs

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whose a process is that asks before the warden has told of all ranks is known when it tells of
// that one, or has told of all.
func TestWhoseProcessAsks(t *testing.T) {
	type found struct {
		some bool
		r    *rank
	}
	a, w, _, _ := waitingWorld(t)
	own, other := found{}, found{}
	a.job.owners.withRank(os.Getpid(), func(r *rank) { own = found{true, r} })
	a.job.owners.withRank(os.Getppid(), func(r *rank) { other = found{true, r} })
	require.Equal(t, [2]found{}, [2]found{own, other})
	a.job.owners.byPID = map[int]*rank{os.Getpid(): w.ranks[0]}
	a.job.owners.born(os.Getpid())
	require.Equal(t, found{true, w.ranks[0]}, own)
	require.False(t, other.some)
	require.NoError(t, a.job.endWorld(w)) // so that no rank is unborn
	require.Equal(t, found{true, nil}, other)
	require.Empty(t, a.job.owners.ownerless)

	a, _, _, _ = waitingWorld(t)
	a.job.end.KillOrdered(&a.end, 0)
	other = found{}
	a.job.owners.withRank(os.Getppid(), func(r *rank) { other = found{true, r} })
	require.Equal(t, found{true, nil}, other, "nobody waits at the end")
}
