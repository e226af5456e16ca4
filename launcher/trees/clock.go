package trees

import (
	"slices"
	"time"
)

// Clock notes when each phase of a tree, or of a job, was over.
type Clock []Mark

// Mark is the end of a phase.
type Mark struct {
	Phase string
	At    time.Time
}

// Mark says that a phase is over; only the first time counts.
func (c *Clock) Mark(phase string) {
	if !slices.ContainsFunc(*c, func(m Mark) bool { return m.Phase == phase }) {
		*c = append(*c, Mark{phase, time.Now()})
	}
}
