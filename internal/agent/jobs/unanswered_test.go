package jobs

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// A connection of a rank's that nobody answers is told once it has lasted; one that is
// made at last is not.
func TestConnectionsThatNobodyAnswers(t *testing.T) {
	a, w, said := nodeOf(t, lostWarden{})
	served(t, a, w)
	a.self.Name = "n1"
	w.ranks[0].PID = 7
	require.False(t, a.job.stalls.mayConnect(), "before the first fence")
	w.fences = 1
	require.True(t, a.job.stalls.mayConnect())
	lasts := unix.Attempt{From: netip.MustParseAddrPort("10.0.0.1:4000"), To: netip.MustParseAddrPort("10.9.0.1:22")}
	passes := unix.Attempt{From: lasts.From, To: netip.MustParseAddrPort("10.0.0.2:22")}
	seen := func(of ...unix.Attempt) { a.job.stalls.attemptsSeen(map[int][]unix.Attempt{7: of}) }
	for range looksToStall {
		seen(passes, lasts, lasts)
	}
	require.Empty(t, a.job.stalls.ownWaits(overlay.WaitQuestion{}).Unanswered)
	require.Len(t, a.job.stalls.ownWaits(overlay.WaitQuestion{Now: true}).Unanswered, 2)
	seen(lasts)
	require.Equal(t, overlay.KindStalled, (<-said).Header.Kind)
	own := a.job.stalls.ownWaits(overlay.WaitQuestion{})
	require.Equal(t, []string{"rank 0 on n1, 10.0.0.1 to 10.9.0.1:22"}, own.Unanswered)
	require.Equal(t, 1, own.Attempts)
	seen()
	require.Zero(t, a.job.stalls.ownWaits(overlay.WaitQuestion{Now: true}).Attempts)
}
