package launcher

import (
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Late goes on without a root that owes something though its time is over.
func (r *run) Late() {
	switch {
	case r.worlds.launched() && r.worlds.active():
		r.tree.CutOff(overlay.OwesRanks)
		r.over = true
	case r.worlds.launched() && !r.worlds.drained() && !r.decided && r.output.printing.moves():
		r.tree.MoreTime(stillPrints)
	case r.worlds.launched() && !r.worlds.drained():
		r.tree.CutOff(overlay.OwesOutput)
		r.over = true
	default: // the wait for counters was long enough
		r.over = true
	}
}

// stuck goes on without the missing output of a job that was told to end and has:
// nobody reads it, or else an agent is silent.
func (out *output) stuck() {
	switch {
	case out.job.worlds.drained():
	case out.printing.moves():
		out.job.report.Say("nobody reads the output: what is left of it is dropped")
		out.job.over, out.job.left = true, true
	default:
		out.job.tree.LimitEnd()
	}
}

// Silent tells of a host whose agent was cut off. A further attempt does without it.
func (r *run) Silent(n overlay.Note) {
	r.holds(n.Host)
	r.Noted(n)
}

// holds notes the ranks of a host that has failed.
func (r *run) holds(h job.HostIndex) {
	if _, known := r.heldBy[h]; known {
		return
	}
	if r.heldBy == nil {
		r.heldBy = map[job.HostIndex]string{}
	}
	r.heldBy[h] = r.worlds.ranksOn(h)
}

// stillPrints is the time after the last print of output in which more is expected.
const stillPrints = time.Second

// printing notes whether output is printed: its reader may be slow. It may be used from
// several goroutines.
type printing struct {
	now  atomic.Int32 // printers at work
	last atomic.Int64 // when one was, by the Unix clock in nanoseconds
}

// does runs a function that prints something.
func (p *printing) does(write func() error) error {
	p.now.Add(1)
	defer func() {
		p.last.Store(time.Now().UnixNano())
		p.now.Add(-1)
	}()
	return write()
}

// moves reports whether output is printed, or was a moment ago.
func (p *printing) moves() bool {
	return p.now.Load() > 0 || time.Since(time.Unix(0, p.last.Load())) < stillPrints/2
}
