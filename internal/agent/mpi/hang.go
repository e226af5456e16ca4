package mpi

import (
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// An MPICH that hangs in MPI_Finalize has some ranks wait in the fence there, which
// the others never enter. Those that wait long in a fence after MPI_Init, with such a
// library, are told to the launcher, which knows who is missing. MPI_Init has fences,
// too: the first does not count.

// FenceEntered notes that a local rank enters a fence.
func (w *World) FenceEntered() {
	if number := w.ranks.Fences(); number > 0 && w.waiting == nil {
		w.waiting = time.AfterFunc(overlay.LongWait, func() { w.view.Post(func() { w.fenceLong(number) }) })
	}
}

// FenceReleased notes that a fence is complete.
func (w *World) FenceReleased() { w.stopWaiting() }

func (w *World) stopWaiting() {
	if w.waiting != nil {
		w.waiting.Stop()
		w.waiting = nil
	}
}

// underWay reports whether a fence is not complete, nor has failed, and its world has no
// end in sight.
func (w *World) underWay(fence int) bool {
	return w.l.worlds[w.view.ID] == w && w.ranks.Fences() == fence && !w.view.Ending() && w.ranks.FencesOver() == ""
}

// fenceLong looks at what the ranks have loaded that wait in a fence, which has taken
// overlay.LongWait.
func (w *World) fenceLong(fence int) {
	if !w.underWay(fence) {
		return
	}
	for _, r := range w.view.Ranks {
		if r.Fencing && !r.Exited && r.PID > 0 {
			pid := r.PID
			go func() { // ends with a look at the rank's processes
				library, fixed := loadedHangingMPICH(pid)
				w.view.Post(func() { w.waitingSeen(fence, library, fixed) })
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

// waitingSeen tells the launcher which local ranks wait in a fence, and what they have
// loaded: library is "" if it is none that hangs, fixed says that what ends the hang is loaded.
func (w *World) waitingSeen(fence int, library string, fixed bool) {
	if library == "" || !w.underWay(fence) {
		return
	}
	fixed = fixed || w.begun != nil && w.begun.hangs != ""
	m := overlay.Waiting{Library: overlay.CutCause(library), Fixed: fixed}
	for _, r := range w.view.Ranks {
		if !r.Fencing {
			continue
		}
		if n := len(m.Ranks); n > 0 && m.Ranks[n-1].First+job.Rank(m.Ranks[n-1].Count) == r.Number {
			m.Ranks[n-1].Count++
		} else {
			m.Ranks = append(m.Ranks, overlay.RankRange{First: r.Number, Count: 1})
		}
	}
	w.view.Send(serve.Parent, link.Control, overlay.KindWaiting, overlay.Encode(m))
}
