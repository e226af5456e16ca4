package agent

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// note tells the user something of this host, if they asked for so much.
func (a *Agent) note(level int, format string, args ...any) {
	a.noteOf(a.self.Index, level, format, args...)
}

// noteOf is note of a host that is this one or below it.
func (a *Agent) noteOf(host job.HostIndex, level int, format string, args ...any) {
	if level > a.common.Verbose {
		return
	}
	text := overlay.Cut(fmt.Sprintf(format, args...))
	a.up(link.Control, overlay.KindNote, overlay.Encode(overlay.Note{Level: level, Host: host, Text: text}))
}

// fail reports a failure, unless golaunch has told the ranks to end, which brings
// failures with it.
func (a *Agent) fail(f job.Failure) {
	if !a.end.Killed() {
		a.report(f)
	}
}

// report tells the launcher of a failure, which has happened now unless it says
// when.
func (a *Agent) report(f job.Failure) {
	now := unix.Monotonic()
	if f.Clock == 0 && f.Rank >= 0 {
		f.Clock = now
	}
	if f.Clock > 0 {
		f.Age = max(0, now-f.Clock)
	}
	f.Said, f.Text = now, overlay.Cut(f.Text)
	a.tellFailure(f)
}

// tellFailure passes a failure on, unless the same was told before.
func (a *Agent) tellFailure(f job.Failure) {
	f.Age = min(f.Age, overlay.MaxAge)
	if a.failures.First(f) {
		a.up(link.Control, overlay.KindFailure, overlay.Encode(f))
	}
}
