package jobs

import (
	"fmt"
	"os"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// With --profile ranks preload a library that counts what they send, in memory that
// is this agent's: it is there when a rank was killed, too.

// counters are those of a world's ranks on this node.
type counters struct {
	world  int
	ranks  []job.Rank
	layout profile.Layout
	file   *os.File
}

// profiling is the counting of what a job's ranks send.
type profiling struct {
	j        *Job
	counting []*counters // of the worlds that ran here
	counts   bool        // they are on now, or will be
}

// profileSwitch is the signal that begins and ends the counting with
// profile.FromSignal.
const profileSwitch = syscall.SIGUSR2

// open makes room for the counters of a world's local ranks. Where that
// cannot be they run without.
func (pf *profiling) open(w *world) *counters {
	if pf.j.launch.Profile == "" || len(w.ranks) == 0 {
		return nil
	}
	c := &counters{world: w.id, layout: profile.Layout{Ranks: len(w.ranks), Size: w.spec.Size, Time: pf.j.launch.Profile == profile.Time}}
	header, bytes, err := c.layout.Header()
	if err == nil {
		c.file, err = unix.SharedMemory("counters", header, bytes)
	}
	if err != nil {
		pf.j.node.Note(0, "--profile: ranks here are not counted: %v", err)
		return nil
	}
	for _, r := range w.ranks {
		c.ranks = append(c.ranks, r.Number)
	}
	pf.counting = append(pf.counting, c)
	pf.switchOn(c)
	return c
}

// env is what the rank in a slot is told of its counters.
func (c *counters) env(slot int) string {
	return fmt.Sprintf("GOLAUNCH_COUNTERS=%s %d", unix.DescriptorPath(c.file), slot)
}

// switchOn switches counters on or off, as they are to be now.
func (pf *profiling) switchOn(c *counters) {
	for slot := range c.ranks {
		offset, word := c.layout.Switch(slot, pf.counts || pf.j.launch.ProfileFrom == profile.FromStart)
		if _, err := c.file.WriteAt(word, offset); err != nil {
			pf.j.node.Note(0, "--profile: counting is not switched: %v", err)
			return
		}
	}
}

// signal begins or ends the counting, and says whether a signal is for that.
func (pf *profiling) signal(s syscall.Signal) bool {
	if pf.j.launch == nil || pf.j.launch.Profile == "" || pf.j.launch.ProfileFrom != profile.FromSignal || s != profileSwitch {
		return false
	}
	pf.counts = !pf.counts
	for _, c := range pf.counting {
		pf.switchOn(c)
	}
	if pf.counts {
		pf.j.node.Note(1, "--profile: counting has begun")
	} else {
		pf.j.node.Note(1, "--profile: counting has ended")
	}
	return true
}

// tellAll sends the launcher what the ranks here have counted in those worlds
// that are over, and lets go of it.
func (pf *profiling) tellAll(over func(world int) bool) {
	kept := pf.counting[:0]
	for _, c := range pf.counting {
		if !over(c.world) {
			kept = append(kept, c)
			continue
		}
		if err := pf.tell(c); err != nil {
			pf.j.node.Note(0, "--profile: %v", err)
		}
		c.file.Close()
	}
	pf.counting = kept
}

// close lets go of what nobody has asked for.
func (pf *profiling) close() {
	for _, c := range pf.counting {
		c.file.Close()
	}
	pf.counting = nil
}

func (pf *profiling) tell(c *counters) error {
	ranks := make([]*profile.Rank, len(c.ranks))
	for slot, number := range c.ranks {
		var err error
		if ranks[slot], err = c.layout.ReadRank(c.file, slot, number); err != nil {
			pf.j.node.Note(0, "--profile: %v", err)
		}
	}
	if err := c.layout.ReadPool(c.file, ranks); err != nil {
		return err
	}
	for _, r := range ranks {
		if r == nil {
			continue
		}
		if err := pf.send(c, r); err != nil {
			pf.j.node.Note(0, "--profile: what rank %d has counted is spoiled: %v", r.Rank, err)
		}
	}
	return nil
}

// send sends what a rank has counted but for parts that cannot be, as it may
// write there what it likes; the error is the last one's.
func (pf *profiling) send(c *counters, r *profile.Rank) (err error) {
	for _, part := range r.Parts() {
		if wrong := part.Check(c.layout.Size); wrong != nil {
			err = wrong
			continue
		}
		pf.j.node.Parent().Send(link.Service, tree.Header{Kind: overlay.KindProfile, Job: pf.j.number, World: uint16(c.world), To: tree.Launcher, From: pf.j.node.Self().Index}, overlay.Encode(part))
	}
	return err
}
