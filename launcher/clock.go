package launcher

import (
	"fmt"
	"strings"
	"time"
)

// clock notes when each phase of a job was over.
type clock struct {
	begin time.Time
	marks []mark
}

type mark struct {
	phase string
	at    time.Time
}

// mark says that a phase is over; only the first time counts.
func (c *clock) mark(phase string) {
	if !c.has(phase) {
		c.marks = append(c.marks, mark{phase, time.Now()})
	}
}

func (c *clock) has(phase string) bool {
	for _, m := range c.marks {
		if m.phase == phase {
			return true
		}
	}
	return false
}

// String is the phase table of --timing: each phase's length and when it was
// over, in milliseconds since golaunch began.
func (c *clock) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %10s %10s\n", "phase", "ms", "since start")
	last := c.begin
	for _, m := range c.marks {
		fmt.Fprintf(&b, "%-16s %10.1f %10.1f\n", m.phase, ms(m.at.Sub(last)), ms(m.at.Sub(c.begin)))
		last = m.at
	}
	return b.String()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
