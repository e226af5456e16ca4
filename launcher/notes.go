package launcher

import (
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

const (
	noteDelay = 200 * time.Millisecond // for other hosts to say the same
	maxNotes  = 100                    // texts that are kept so long
)

// heldNotes holds notes of hosts until others may have said the same.
type heldNotes struct {
	job   *run
	order []overlay.Note // the first of each, without its host
	hosts map[overlay.Note][]job.HostIndex
}

// notesDue is the event of the time to tell them.
type notesDue struct{}

// Noted takes a note from a host.
func (r *run) Noted(n overlay.Note) {
	if n.Level > 1 { // to be seen at once
		r.verbose(n.Level, "host %s: %s", r.hostName(n.Host), quoted(n.Text))
		return
	}
	if n.Level > r.options.Start.Verbose {
		return
	}
	host := n.Host
	n.Host = job.NoHost
	held := &r.notes
	if held.hosts == nil {
		held.hosts = map[overlay.Note][]job.HostIndex{}
		r.tree.PostAfter(noteDelay, notesDue{})
	}
	if held.hosts[n] == nil {
		held.order = append(held.order, n)
	}
	held.hosts[n] = append(held.hosts[n], host)
	if len(held.order) == maxNotes {
		r.notes.tell()
	}
}

// tell tells each note once, with the hosts that it is of.
func (held *heldNotes) tell() {
	for _, n := range held.order {
		say := held.job.report.Note
		if n.Level == overlay.NoteAlways || n.Level > 0 {
			say = held.job.report.Say
		}
		say("%s: %s", hostsText(held.hosts[n], held.job.hostName), quoted(n.Text))
	}
	*held = heldNotes{job: held.job}
}
