package jobs

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// A rank that ended before its node was told to end the ranks is reported though
// its end was seen later, with its age; the node's clock, which may be set, has
// no part in that. One that was told to end is not reported.
func TestWhatEndedByItselfIsReported(t *testing.T) {
	for name, provoked := range map[string]bool{"by itself": false, "as it was told": true} {
		t.Run(name, func(t *testing.T) {
			a, w, said := nodeOf(t, willingWarden{})
			a.now = func() time.Time { return time.Now().Add(5 * time.Second) }
			served(t, a, w)
			a.job.end.KillOrdered(&a.end, 0)
			ago := unix.Monotonic() / 2 // the machine may have begun just now
			a.job.WardenSaid(proc.Exited{PID: 7, Status: syscall.WaitStatus(syscall.SIGKILL),
				Clock: unix.Monotonic() - ago, Provoked: provoked})
			m := <-said // a rank that was told to end is counted only
			if provoked {
				require.Equal(t, overlay.KindDone, m.Header.Kind)
				return
			}
			f, err := overlay.Decode[job.Failure](m.Body)
			require.NoError(t, err)
			require.Equal(t, int(syscall.SIGKILL), f.Signal)
			require.InDelta(t, ago, f.Age, float64(time.Minute))
		})
	}
}

// What the kernel killed a rank for and that it dumped core are both told.
func TestWhyARankWasKilled(t *testing.T) {
	const dumped = syscall.WaitStatus(0x80)
	for want, e := range map[string]proc.Exited{
		"":                           {Status: syscall.WaitStatus(syscall.SIGKILL)},
		"core dumped":                {Status: syscall.WaitStatus(syscall.SIGSEGV) | dumped},
		"out of memory":              {Status: syscall.WaitStatus(syscall.SIGKILL), Killer: "out of memory"},
		"out of memory, core dumped": {Status: syscall.WaitStatus(syscall.SIGKILL) | dumped, Killer: "out of memory"},
	} {
		a, w, said := nodeOf(t, lostWarden{})
		a.job.end.RanksCome(&a.end, 1)
		a.job.end.RanksHanded(1)
		w.living = 2 // another goes on
		served(t, a, w)
		a.job.WardenSaid(e)
		f, err := overlay.Decode[job.Failure]((<-said).Body)
		require.NoError(t, err)
		require.Equal(t, want, f.Text)
	}
}

// Every node on the way adds how long the word of a failure was with it.
func TestFailuresAgeOnTheWay(t *testing.T) {
	a, _, said := nodeOf(t, lostWarden{})
	for i, at := range []time.Duration{0, time.Hour} {
		_, err := a.job.FromChild(overlay.Message{
			Header: tree.Header{Kind: overlay.KindFailure, Job: job.Cold},
			Value:  job.Failure{Rank: job.Rank(i), Host: job.HostIndex(i), Class: job.CauseAbort, Age: time.Hour}, // each is told once
			At:     time.Now().Add(-at),
		})
		require.NoError(t, err)
		f, err := overlay.Decode[job.Failure]((<-said).Body)
		require.NoError(t, err)
		require.InDelta(t, time.Hour+at, f.Age, float64(time.Minute))
	}
}
