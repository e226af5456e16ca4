package servepmi

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// Of each rank it is told what it waits for, and since when, or how far it has come.
func TestWhatRanksWaitFor(t *testing.T) {
	w := newWorld(t, nil, 4, 1)
	s := w.servers[0]
	text := func(r job.Rank) string {
		c, some := s.Calls()[r]
		if !some {
			return ""
		}
		require.Less(t, time.Since(c.Since), time.Hour)
		return fmt.Sprint(c.Text, " ", c.Waits)
	}
	ask := func(r job.Rank, line, want string) {
		w.say(r, line)
		w.Run(func() bool { return text(r) == want })
	}
	require.Empty(t, s.Calls())
	const first = "in MPI_Init: in PMI's barrier number 1 of the world true"
	const running = "between MPI_Init and MPI_Finalize"
	for r := job.Rank(0); r < 5; r++ {
		w.ask(r, initLine)
	}
	require.Equal(t, "in MPI_Init, in no call of PMI false", text(0))
	for r := job.Rank(0); r < 4; r++ {
		ask(r, "cmd=barrier_in", first)
	}
	w.say(4, "cmd=barrier_in")
	w.Run(func() bool { return text(0) == running+", in no call of PMI false" })
	before := s.Calls()[3].Since
	ask(3, "cmd=barrier_in", "in MPI_Finalize, or at the end of MPI_Init: in PMI's barrier number 2 of the world true")
	require.True(t, s.Calls()[3].Since.After(before))
	ask(2, "cmd=lookup_name service=s", running+": in PMI's lookup true")
	ask(1, "mcmd=spawn\nnprocs=1\nexecname=/app\ntotspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=0\ninfo_num=0\nendcmd",
		"in MPI_Comm_spawn: in PMI's spawn true")
	s.SpawnDone(1, pmi.SpawnResult{JobID: "j"})
	require.Equal(t, running+", in no call of PMI false", text(1))
	ask(0, "cmd=finalize", "past MPI_Finalize false")
}
