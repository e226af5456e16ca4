package launcher

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// clock notes when each phase of a job, or of a tree, was over.
type clock []mark

type mark struct {
	phase string
	at    time.Time
}

// mark says that a phase is over; only the first time counts.
func (c *clock) mark(phase string) {
	if !slices.ContainsFunc(*c, func(m mark) bool { return m.phase == phase }) {
		*c = append(*c, mark{phase, time.Now()})
	}
}

// marks are those of the job and of its tree, in order of time.
func (acc *account) marks() []mark {
	marks := slices.Concat(acc.job.tree.Marks(), acc.clock)
	slices.SortStableFunc(marks, func(x, y mark) int { return x.at.Compare(y.at) })
	return marks
}

// phaseTable is the phase table of --timing: each phase's length and when it was
// over, in milliseconds since golaunch began.
func (acc *account) phaseTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %10s %10s\n", "phase", "ms", "since start")
	last := acc.began
	for _, m := range acc.marks() {
		fmt.Fprintf(&b, "%-16s %10.1f %10.1f\n", m.phase, ms(m.at.Sub(last)), ms(m.at.Sub(acc.began)))
		last = m.at
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
