package jobs

import (
	"maps"
	"slices"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// The first fence of a world over PMI or PMIx is in its ranks' MPI_Init. A rank that never
// comes there, because its program is none of MPI or has ended before, leaves the
// others in it for ever, in silence. The launcher is told, as of ranks that wait over
// the tree.

// initWaits are the MPI_Inits that local ranks wait in, by world.
func (s *stalls) initWaits() (list []waiting) {
	for _, id := range slices.Sorted(maps.Keys(s.j.worlds)) {
		w := s.j.worlds[id]
		if w.inInit() {
			list = append(list, waiting{id: overlay.InitOf(id), missing: w.absent()})
		}
	}
	return list
}

// inInit reports whether a local rank waits in MPI_Init.
func (w *world) inInit() bool {
	return w.fences == 0 && !w.killed && slices.ContainsFunc(w.ranks, func(r *rank) bool {
		return !r.Exited && (w.servers.pmix.InInit(&r.Rank) || r.Fencing && w.servers.pmi.Phase(&r.Rank) == pmi.InInit.String())
	})
}

// came reports whether a rank has come to the first fence. Over PMIx the helper alone knows
// that: those that have begun count.
func (w *world) came(r *rank) bool { return r.Fencing || w.servers.pmix.InInit(&r.Rank) }

// absent is how many local ranks have not come to the first fence.
func (w *world) absent() (n int) {
	for _, r := range w.ranks {
		if !w.came(r) {
			n++
		}
	}
	return n
}

// outOfInit tells which local ranks have not come to a world's first fence, if that
// is not complete.
func (s *stalls) outOfInit(id overlay.WaitID) overlay.Wait {
	x := overlay.Wait{ID: id}
	w := s.j.worlds[id.World]
	if w == nil || w.fences > 0 || w.servers.pmix.Fenced() {
		return x
	}
	var out outside
	for _, r := range w.ranks {
		switch began := w.spoke(&r.Rank); {
		case !r.Exited && w.came(r):
		case w.finalised(&r.Rank), r.Exited && began:
			out.left = append(out.left, int(r.Number))
		case r.Exited:
			out.ended = append(out.ended, int(r.Number))
		case began:
			out.begun = append(out.begun, int(r.Number))
		default:
			out.missing = append(out.missing, int(r.Number))
		}
	}
	return out.wait(id)
}
