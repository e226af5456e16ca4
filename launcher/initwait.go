package launcher

import (
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/overlay"
)

// sayInit names the ranks of a world that wait in MPI_Init, and those that they wait
// for, and reports whether there are any.
func (s *stalls) sayInit(x overlay.Wait) bool {
	world := x.ID.World
	w := s.job.worlds.all[world]
	if w == nil || w.done {
		return false
	}
	out := s.job.worlds.ranksOf(world, slices.Concat(x.Missing, x.Begun, x.Ended, x.Left))
	if len(out) == 0 || len(out) == w.plan.Size {
		return false
	}
	var waiting []int
	for rank := range w.plan.Size {
		if _, is := slices.BinarySearch(out, rank); !is {
			waiting = append(waiting, rank)
		}
	}
	var awaited []string
	of := func(runs []overlay.WaitRun, one, more string) {
		ranks := s.job.worlds.ranksOf(world, runs)
		if len(ranks) == 0 {
			return
		}
		if len(ranks) > 1 {
			one = more
		}
		awaited = append(awaited, w.plan.ranksText(world, ranks)+one)
	}
	of(x.Ended, ", which has ended without calling it", ", which have ended without calling it")
	of(x.Left, ", which has called it, and left before the others came", ", which have called it, and left before the others came")
	of(x.Missing, ", which has not called it", ", which have not called it")
	of(x.Begun, ", which has begun it, but not come as far", ", which have begun it, but not come as far")
	text := numbersText(world, waiting)
	if text += " wait"; len(waiting) == 1 {
		text += "s"
	}
	text += " in MPI_Init for " + strings.Join(awaited, "; and for ")
	if len(x.Ended) > 0 {
		text += ": that never ends, as every rank of an MPI job has to call MPI_Init; if some are no MPI programs, start them by a golaunch of their own"
	}
	s.say("%s", text)
	return true
}
