package launcher

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
)

// TestWhoIsMissingInAFenceIsNamed is told of ranks that have not entered a fence: the
// text about each is true of it.
func TestWhoIsMissingInAFenceIsNamed(t *testing.T) {
	runs := func(ranks ...int) []overlay.WaitRun { return overlay.AppendWaitRuns(nil, ranks) }
	fence := overlay.WaitID{Fence: true, Seq: 2}
	pmix := overlay.WaitID{Fence: true, PMIx: true, Seq: 2}
	for name, x := range map[string]struct {
		waits []overlay.Wait
		want  string
	}{
		"late":      {[]overlay.Wait{{ID: fence, Missing: runs(3)}}, "F, waits for rank 3, which has not entered it\n"},
		"ended":     {[]overlay.Wait{{ID: fence, Ended: runs(3, 4)}}, "F, waits for ranks 3-4, which have ended\n"},
		"all kinds": {[]overlay.Wait{{ID: fence, Ended: runs(1), Left: runs(2), Missing: runs(3)}}, "F, waits for rank 1, which has ended; and for rank 2, which has finalized; and for rank 3, which has not entered it\n"},
		"of a node": {[]overlay.Wait{{ID: pmix, Missing: runs(2, 3)}}, "F, waits for ranks 2-3, which have not all entered it\n"},
		"in MPI_Init": {[]overlay.Wait{{ID: overlay.InitOf(0), Missing: runs(3)}, {ID: pmix, Missing: runs(2, 3)}},
			"ranks 0-2 wait in MPI_Init for rank 3 on a, which has not called it\n"},
		"both kinds of fences": {[]overlay.Wait{{ID: fence, Missing: runs(0)}, {ID: pmix, Left: runs(1)}},
			"F, waits for rank 0, which has not entered it\ngolaunch: after 10s: F, waits for rank 1, which has finalized\n"},
		"they have come meanwhile": {[]overlay.Wait{{ID: fence}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			r, _ := launchedRun(t)
			r.report, r.options.Start.StallAfter = &reporter{w: &said}, 10*time.Second
			p, err := NewPlan(options(t, "a:4", 4), "here")
			require.NoError(t, err)
			if name == "ended" {
				p, err = NewPlan(options(t, "a:5", 5), "here")
				require.NoError(t, err)
			}
			r.plan = p
			r.worlds.launch(p)
			r.stalls.asking = true
			var first []overlay.Wait
			for _, w := range x.waits {
				first = append(first, overlay.Wait{ID: w.ID, Text: "F"})
			}
			require.NoError(t, r.stalls.take(overlay.Waits{Waits: first}))
			require.NoError(t, r.stalls.take(overlay.Waits{Number: r.stalls.question.Number, Waits: x.waits}))
			if x.want != "" {
				x.want = "golaunch: after 10s: " + x.want
			}
			require.Equal(t, x.want, said.String())
		})
	}
}
