package trees

import (
	"slices"
	"time"
)

// Clock has the end of each phase of a tree, or of a job.
type Clock []Mark

// Mark is the end of a phase.
type Mark struct {
	Phase string
	At    time.Time
}

// Mark notes the end of a phase; only the first time counts.
func (c *Clock) Mark(phase string) {
	if !slices.ContainsFunc(*c, func(m Mark) bool { return m.Phase == phase }) {
		*c = append(*c, Mark{phase, time.Now()})
	}
}
