package jobs

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/overlay"
)

// outside are ranks that have not entered what others wait in.
type outside struct{ missing, begun, ended, left []int }

// wait tells of them.
func (o *outside) wait(id overlay.WaitID) overlay.Wait {
	runs := func(ranks []int) []overlay.WaitRun { return overlay.AppendWaitRuns(nil, ranks) }
	return overlay.Wait{ID: id, Missing: runs(o.missing), Begun: runs(o.begun), Ended: runs(o.ended), Left: runs(o.left)}
}

// finalised reports whether a rank has done with PMI or PMIx.
func (w *world) finalised(r *serve.Rank) bool {
	return w.servers.pmi.Finalised(r) || w.servers.pmix.Finalised(r)
}

// fenceWaits are the fences that local ranks wait in, over the tree, PMI or PMIx. Of the
// first in MPI_Init, initWaits tells.
func (w *world) fenceWaits() (list []waiting) {
	if w.servers.tree.Fencing() || w.servers.pmi.Fencing() && !w.inInit() {
		number := w.servers.board.Completed()
		list = append(list, w.fenceWait(overlay.WaitID{World: w.id, Fence: true, Seq: number}, "fence"))
	}
	if number, some := w.servers.pmix.FenceWaits(); some {
		list = append(list, w.fenceWait(overlay.WaitID{World: w.id, Fence: true, PMIx: true, Seq: number}, "PMIx fence"))
	}
	return list
}

func (w *world) fenceWait(id overlay.WaitID, kind string) waiting {
	return waiting{id: id, missing: len(w.notInFence(id)), text: w.named(fmt.Sprintf("%s, number %d of the world", kind, id.Seq))}
}

// notInFence are the local ranks that have not entered a fence.
func (w *world) notInFence(id overlay.WaitID) (list []*serve.Rank) {
	if id.PMIx {
		return w.servers.pmix.NotInFence(id.Seq)
	}
	if w.servers.board == nil { // its ranks were refused
		return nil
	}
	done := w.servers.board.Completed()
	for _, r := range w.ranks {
		if done < id.Seq || done == id.Seq && !r.Fencing {
			list = append(list, &r.Rank)
		}
	}
	return list
}

// outOfFence tells which local ranks have not entered a fence.
func (w *world) outOfFence(id overlay.WaitID) overlay.Wait {
	var out outside
	for _, r := range w.notInFence(id) {
		switch number := int(r.Number); {
		case r.Exited:
			out.ended = append(out.ended, number)
		case w.finalised(r):
			out.left = append(out.left, number)
		default:
			out.missing = append(out.missing, number)
		}
	}
	return out.wait(id)
}
