package launcher

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

func TestRanksThatHangAreNamed(t *testing.T) {
	waits := func(library string, ranks ...overlay.RankRange) overlay.Waiting {
		return overlay.Waiting{Ranks: ranks, Library: library}
	}
	const library = "MPICH 4.0.2 (ch4:ucx, /lib/libmpich.so.12)"
	begin := func(size int) (*testRun, *bytes.Buffer) {
		var said bytes.Buffer
		r, _ := launchedRun(t)
		o := options(t, "a:4,b:4,c:4", size)
		p, err := NewPlan(o, "here")
		require.NoError(t, err)
		r.plan, r.report = p, &reporter{w: &said}
		r.worlds.launch(p)
		return r, &said
	}

	r, said := begin(12)
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 0, Count: 3})))
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 4, Count: 2}, overlay.RankRange{First: 7, Count: 1})))
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 8, Count: 4})))
	require.NoError(t, r.stalls.ranksWait(5, waits(library, overlay.RankRange{First: 0, Count: 1})), "a world that is over")
	for reports := range 4 { // not before the last, and once
		r.stalls.waitersHeard(waitersHeard{0, reports})
		if reports < 3 {
			require.Empty(t, said.String())
		}
	}
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 3, Count: 1})))
	r.stalls.waitersHeard(waitersHeard{0, 4})
	require.Equal(t, "golaunch: rank 3 on a, rank 6 on b have kept all others waiting in MPI_Finalize for 10s; "+
		"if they are in it, too, that is the hang of "+library+": --mpi mpich ends it\n", said.String())

	// Many, and a user without the library.
	r, said = begin(12)
	r.options.MPI.NoMPICHFix = true
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 0, Count: 2})))
	r.stalls.waitersHeard(waitersHeard{0, 1})
	require.Contains(t, said.String(), ": ranks 2-3 on a, ranks 4-7 on b, ranks 8-11 on c have kept ")
	require.Contains(t, said.String(), ": golaunch ends it without --mpi none\n")

	// The library that ends the hang is loaded, everywhere or not.
	r, said = begin(12)
	fixed := overlay.Waiting{Ranks: []overlay.RankRange{{First: 0, Count: 11}}, Library: library, Fixed: true}
	require.NoError(t, r.stalls.ranksWait(0, fixed))
	r.stalls.waitersHeard(waitersHeard{0, 1})
	require.Equal(t, "golaunch: rank 11 on c has kept all others waiting in MPI_Finalize for 10s; if it is in it, too, it hangs "+
		"although libmpichfinalize.so is loaded, which should end the hang of "+library+": please report where gdb shows it\n", said.String())
	r, said = begin(12)
	require.NoError(t, r.stalls.ranksWait(0, fixed))
	require.NoError(t, r.stalls.ranksWait(0, waits("MPICH 4.1", overlay.RankRange{First: 0, Count: 1})))
	r.stalls.waitersHeard(waitersHeard{0, 2})
	require.Contains(t, said.String(), "that is the hang of MPICH 4.1: --mpi mpich ends it\n")

	// Nobody is named where nobody is missing, or the end has come.
	r, said = begin(4)
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 0, Count: 4})))
	r.stalls.waitersHeard(waitersHeard{0, 1})
	r, _ = begin(4)
	r.report.w = said
	require.NoError(t, r.stalls.ranksWait(0, waits(library, overlay.RankRange{First: 0, Count: 1})))
	r.worlds.all[0].done = true
	r.stalls.waitersHeard(waitersHeard{0, 1})
	require.Empty(t, said.String())

	for _, bad := range []overlay.RankRange{{First: -1, Count: 1}, {First: 0, Count: 0}, {First: 0, Count: 5}, {First: 3, Count: 2}, {First: job.Rank(1 << 30), Count: 1 << 30}} {
		require.Error(t, r.stalls.ranksWait(0, waits(library, bad)))
	}
}
