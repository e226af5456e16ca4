package launcher

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/overlay"
)

// gatherWaiters is the time for nodes to tell of ranks that wait, after the last that
// has: their clocks began as their own ranks did.
const gatherWaiters = time.Second

// hang has the ranks of a world that wait in MPI_Finalize.
type hang struct {
	waits   []bool // by rank; nil before the first is told
	library string
	fixed   bool // the library that ends its hang is loaded wherever ranks wait
	reports int  // of nodes
	told    bool
}

// waitersHeard is the event that no node has told of a world's for a while, since
// that many did.
type waitersHeard struct{ world, reports int }

// ranksWait notes ranks of a node that wait for others in MPI_Finalize. An error means
// that there can be no such ranks.
func (s *stalls) ranksWait(id int, m overlay.Waiting) error {
	w := s.job.worlds.all[id]
	if w == nil {
		return nil // it is over meanwhile
	}
	for _, of := range m.Ranks {
		if of.First < 0 || of.Count < 1 || of.Count > w.plan.Size-int(of.First) {
			return fmt.Errorf("ranks %d+%d of world %d wait, which do not exist", of.First, of.Count, id)
		}
	}
	h := &w.hang
	if h.told {
		return nil
	}
	if h.waits == nil {
		h.waits, h.library, h.fixed = make([]bool, w.plan.Size), m.Library, true
	}
	if h.fixed && !m.Fixed {
		h.library, h.fixed = m.Library, false
	}
	for _, of := range m.Ranks {
		for i := range of.Count {
			h.waits[int(of.First)+i] = true
		}
	}
	h.reports++
	e := waitersHeard{id, h.reports}
	s.job.tree.PostAfter(gatherWaiters, e)
	return nil
}

// waitersHeard names, once, the ranks of a world that have not waited long, as all
// others have. Some may wait since a short time ago.
func (s *stalls) waitersHeard(e waitersHeard) {
	w := s.job.worlds.all[e.world]
	if w == nil || w.done || w.hang.told || w.hang.reports > e.reports || s.job.killed || s.job.over {
		return
	}
	w.hang.told = true
	var missing []int
	for rank, waits := range w.hang.waits {
		if !waits {
			missing = append(missing, rank)
		}
	}
	if len(missing) == 0 { // the fence is about to be complete
		return
	}
	s.job.report.Note("%s", s.hangText(e.world, missing))
}

// hangText names ranks that all others wait for, with the likely cause.
func (s *stalls) hangText(id int, missing []int) string {
	w := s.job.worlds.all[id]
	they, has, hang := "it is", "has", "it hangs"
	if len(missing) > 1 {
		they, has, hang = "they are", "have", "they hang"
	}
	text := fmt.Sprintf("%s %s kept all others waiting in MPI_Finalize for %v; if %s in it, too, ",
		w.plan.ranksText(id, missing), has, overlay.LongWait, they)
	switch library := w.hang.library; {
	case w.hang.fixed:
		return text + fmt.Sprintf("%s although %s is loaded, which should end the hang of %s: please report where gdb shows it",
			hang, overlay.LibMPICHFinalize, library)
	case s.job.options.MPI.NoMPICHFix:
		return text + fmt.Sprintf("that is the hang of %s: golaunch ends it without --mpi none", library)
	default:
		return text + fmt.Sprintf("that is the hang of %s: --mpi mpich ends it", library)
	}
}
