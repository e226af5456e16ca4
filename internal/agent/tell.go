package agent

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// note tells the user something of this host, if they asked for so much; noteOf does so
// for a job, or for the tree, of a host that is this one or below it.
func (a *Agent) note(level int, format string, args ...any) {
	a.noteOf(job.TreeItself, a.self.Index, level, format, args...)
}

func (a *Agent) noteOf(n job.Number, host job.HostIndex, level int, format string, args ...any) {
	if level > a.common.Verbose {
		return
	}
	text := overlay.Cut(fmt.Sprintf(format, args...))
	a.up(link.Control, overlay.KindNote, n, overlay.Encode(overlay.Note{Level: level, Host: host, Text: text}))
}
