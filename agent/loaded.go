package agent

import (
	"path"
	"time"

	"github.com/golaunch/golaunch/internal/proc"
)

// A program may use an MPI library that its file does not name: scripts and
// interpreters do. The first rank of such an app is looked at a few times, ever
// more seldom, for the sake of explainSilence.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 10 * time.Second
)

// lookDue is the event that a world's programs are to be looked at.
type lookDue struct {
	world *world
	after time.Duration
}

// lookLater has the programs of w looked at, if it is not known what they use.
func (a *Agent) lookLater(w *world, after time.Duration) {
	if w.Size == 1 || after > lastLook || w.living == 0 {
		return
	}
	for app := range w.libraries {
		if w.silent(app) != nil {
			time.AfterFunc(after, func() { a.inbox.Put(lookDue{w, after}) })
			return
		}
	}
}

// silent is the first rank of an app, if it is here, lives, has not spoken PMI,
// and its MPI library, if any, is not known.
func (w *world) silent(app int) *rank {
	lib := w.libraries[app]
	r := w.byRank[lib.first]
	if r == nil || r.Exited || lib.name != "" || w.spoke(r) {
		return nil
	}
	return r
}

func (a *Agent) lookForMPI(e lookDue) {
	w := e.world
	for app, lib := range w.libraries {
		r := w.silent(app)
		if r == nil || r.PID == 0 {
			continue
		}
		if lib.name = proc.LoadedLibrary(r.PID, isMPI); lib.name != "" {
			lib.loaded = true
			a.note(1, "%s uses %s", path.Base(w.Apps[app].Argv[0]), lib.name)
			if lib.hidden() {
				a.explainSilence(r, false) // before it computes for hours
			}
		}
	}
	a.lookLater(w, 2*e.after)
}
