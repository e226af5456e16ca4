package launcher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/launcher/trees"
)

// marks returns those of the job and of its tree, in order of time.
func (acc *account) marks() []trees.Mark {
	marks := slices.Concat(acc.job.tree.Marks(), acc.clock)
	slices.SortStableFunc(marks, func(x, y trees.Mark) int { return x.At.Compare(y.At) })
	return marks
}

// phaseTable renders the phase table of --timing: each phase's length and its end, in
// milliseconds since golaunch began.
func (acc *account) phaseTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %10s %10s\n", "phase", "ms", "since start")
	last := acc.began
	for _, m := range acc.marks() {
		fmt.Fprintf(&b, "%-16s %10.1f %10.1f\n", m.Phase, ms(m.At.Sub(last)), ms(m.At.Sub(acc.began)))
		last = m.At
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
