package agent

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

// profileSwitch is the signal that begins and ends the counting with
// profile.FromSignal.
const profileSwitch = syscall.SIGUSR2

// openCounters makes room for the counters of a world's local ranks. Where that
// cannot be they run without.
func (a *Agent) openCounters(w *world) *counters {
	if a.launch.Profile == "" || len(w.ranks) == 0 {
		return nil
	}
	c := &counters{world: w.id, layout: profile.Layout{Ranks: len(w.ranks), Size: w.Size, Time: a.launch.Profile == profile.Time}}
	header, bytes, err := c.layout.Header()
	if err == nil {
		c.file, err = unix.SharedMemory("counters", header, bytes)
	}
	if err != nil {
		a.note(0, "--profile: ranks here are not counted: %v", err)
		return nil
	}
	for _, r := range w.ranks {
		c.ranks = append(c.ranks, r.Number)
	}
	a.counting = append(a.counting, c)
	a.switchCounters(c)
	return c
}

// env is what the rank in a slot is told of its counters.
func (c *counters) env(slot int) string {
	return fmt.Sprintf("GOLAUNCH_COUNTERS=%s %d", unix.DescriptorPath(c.file), slot)
}

// switchCounters switches counters on or off, as they are to be now.
func (a *Agent) switchCounters(c *counters) {
	for slot := range c.ranks {
		offset, word := c.layout.Switch(slot, a.counts || a.launch.ProfileFrom == profile.FromStart)
		if _, err := c.file.WriteAt(word, offset); err != nil {
			a.note(0, "--profile: counting is not switched: %v", err)
			return
		}
	}
}

// profileSignal begins or ends the counting, and says whether a signal is for that.
func (a *Agent) profileSignal(s syscall.Signal) bool {
	if a.launch == nil || a.launch.Profile == "" || a.launch.ProfileFrom != profile.FromSignal || s != profileSwitch {
		return false
	}
	a.counts = !a.counts
	for _, c := range a.counting {
		a.switchCounters(c)
	}
	if a.counts {
		a.note(1, "--profile: counting has begun")
	} else {
		a.note(1, "--profile: counting has ended")
	}
	return true
}

// tellProfiles sends the launcher what the ranks here have counted in those worlds
// that are over, and lets go of it.
func (a *Agent) tellProfiles(over func(world int) bool) {
	kept := a.counting[:0]
	for _, c := range a.counting {
		if !over(c.world) {
			kept = append(kept, c)
			continue
		}
		if err := a.tellProfile(c); err != nil {
			a.note(0, "--profile: %v", err)
		}
		c.file.Close()
	}
	a.counting = kept
}

func (a *Agent) tellProfile(c *counters) error {
	ranks := make([]*profile.Rank, len(c.ranks))
	for slot, number := range c.ranks {
		var err error
		if ranks[slot], err = c.layout.ReadRank(c.file, slot, number); err != nil {
			a.note(0, "--profile: %v", err)
		}
	}
	if err := c.layout.ReadPool(c.file, ranks); err != nil {
		return err
	}
	for _, r := range ranks {
		if r == nil {
			continue
		}
		if err := a.sendProfile(c, r); err != nil {
			a.note(0, "--profile: what rank %d has counted is spoiled: %v", r.Rank, err)
		}
	}
	return nil
}

// sendProfile sends what a rank has counted but for parts that cannot be, as it may
// write there what it likes; the error is the last one's.
func (a *Agent) sendProfile(c *counters, r *profile.Rank) (err error) {
	for _, part := range r.Parts() {
		if wrong := part.Check(c.layout.Size); wrong != nil {
			err = wrong
			continue
		}
		a.parent.Send(link.Service, tree.Header{Kind: overlay.KindProfile, World: uint16(c.world), To: tree.Launcher, From: a.self.Index}, overlay.Encode(part))
	}
	return err
}
