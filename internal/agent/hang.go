package agent

import (
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// An MPICH that hangs in MPI_Finalize has some ranks wait in the fence there, which
// the others never enter. Those that wait long in a fence after MPI_Init, with such a
// library, are told to the launcher, which knows who is missing. MPI_Init has fences,
// too: the first does not count.

// fenceLong is the event that a fence of a world has taken overlay.LongWait.
type fenceLong struct {
	world *world
	fence int
}

// waitingSeen is the event that it is known which MPI library local ranks have
// loaded that wait in a fence; "" if it is none that hangs.
type waitingSeen struct {
	fenceLong
	library string
	fixed   bool // what ends its hang is loaded
}

// watchFence notes the time at which the first local rank enters a fence.
func (a *Agent) watchFence(w *world) {
	if w.fences > 0 && w.waiting == nil {
		e := fenceLong{w, w.fences}
		w.waiting = time.AfterFunc(overlay.LongWait, func() { a.inbox.Put(e) })
	}
}

// unwatchFence notes that a fence is complete.
func (w *world) unwatchFence() {
	w.fences++
	w.stopWaiting()
}

func (w *world) stopWaiting() {
	if w.waiting != nil {
		w.waiting.Stop()
		w.waiting = nil
	}
}

// underWay reports whether the fence that an event is about is not complete, nor has
// failed, and its world has no end in sight.
func (a *Agent) underWay(e fenceLong) bool {
	w := e.world
	return a.worlds[w.id] == w && w.fences == e.fence && !a.end.Killed() && !w.killed && w.board.FencesOverByPMI() == ""
}

// fenceLong looks at what the ranks have loaded that wait.
func (a *Agent) fenceLong(e fenceLong) {
	if !a.underWay(e) {
		return
	}
	for _, r := range e.world.ranks {
		if r.Fencing && !r.Exited && r.PID > 0 {
			pid := r.PID
			go func() { // ends with a look at the rank's processes
				library, fixed := loadedHangingMPICH(pid)
				a.inbox.Put(waitingSeen{e, library, fixed})
			}()
			return
		}
	}
}

// loadedHangingMPICH describes the MPICH that a process or one below it has loaded,
// if that hangs, and tells whether what ends that is loaded, too.
func loadedHangingMPICH(pid int) (library string, fixed bool) {
	file := proc.LoadedFile(pid, isMPICH)
	if file == "" {
		return "", false
	}
	fixed = proc.LoadedFile(pid, func(name string) bool { return strings.Contains(name, fixName) }) != ""
	return hangingMPICH(file), fixed
}

// waitingSeen tells the launcher which local ranks wait.
func (a *Agent) waitingSeen(e waitingSeen) {
	if e.library == "" || !a.underWay(e.fenceLong) {
		return
	}
	fixed := e.fixed || e.world.begun != nil && e.world.begun.hangs != ""
	m := overlay.Waiting{Library: overlay.CutCause(e.library), Fixed: fixed}
	for _, r := range e.world.ranks {
		if !r.Fencing {
			continue
		}
		if n := len(m.Ranks); n > 0 && m.Ranks[n-1].First+job.Rank(m.Ranks[n-1].Count) == r.Number {
			m.Ranks[n-1].Count++
		} else {
			m.Ranks = append(m.Ranks, overlay.RankRange{First: r.Number, Count: 1})
		}
	}
	a.upWorld(e.world, link.Control, overlay.KindWaiting, overlay.Encode(m))
}
