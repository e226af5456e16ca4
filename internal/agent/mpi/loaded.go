package mpi

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/loader"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// A program may use an MPI library that its file does not name: scripts and
// interpreters do. The first rank of such an app is looked at a few times, ever
// more seldom, for the sake of ExplainSilence, and of a rank that is alone.
const (
	firstLook = 100 * time.Millisecond
	lastLook  = 10 * time.Second
)

// Started notes that the ranks start.
func (w *World) Started() { w.lookLater(firstLook) }

// lookLater has the programs of w looked at, if it is not known what they use.
func (w *World) lookLater(after time.Duration) {
	if w.view.Size == 1 || w.view.Launch.NoMPI || after > lastLook || w.ranks.Living() == 0 {
		return
	}
	for app := range w.libraries {
		if w.silent(app) != nil {
			time.AfterFunc(after, func() { w.view.Post(func() { w.look(after) }) })
			return
		}
	}
}

// silent is the first rank of an app, if it is here, lives, has not asked who it is,
// and it is not known whether it will.
func (w *World) silent(app int) *serve.Rank {
	lib := w.libraries[app]
	r := w.view.Local(lib.first)
	if r == nil || r.Exited || w.loaded[r.Number] != "" || lib.name != "" && !lib.asks() || w.asks[r.Number] || w.ranks.Spoke(r) {
		return nil
	}
	return r
}

// look finds out what the programs have loaded, so long after the look before.
func (w *World) look(after time.Duration) {
	for app, lib := range w.libraries {
		r := w.silent(app)
		if r == nil || r.PID == 0 {
			continue
		}
		if lib.asks() {
			w.hasLoaded(r, openMPIAlone(r.PID))
		}
		if lib.name != "" {
			continue
		}
		if lib.name = proc.LoadedLibrary(r.PID, isMPI); lib.name != "" {
			lib.loaded = true
			w.view.Note(1, "%s uses %s", path.Base(w.view.Apps[app].Argv[0]), lib.name)
		}
	}
	w.lookLater(2 * after)
}

// hasLoaded notes the Open MPI that a rank has loaded without what asks, "" for none.
func (w *World) hasLoaded(r *serve.Rank, name string) {
	if w.loaded == nil {
		w.loaded = map[job.Rank]string{}
	}
	w.loaded[r.Number] = name
}

// notPreloaded is why Open MPI's ranks are alone.
const notPreloaded = "what finds golaunch for Open MPI could not be preloaded, as into a static or setuid program or a container, " +
	"or where LD_PRELOAD is unset; --mpi pmix does without, --mpi none has it so"

// openMPIWords are in each Open MPI. They are put together here, so that golaunch, which
// is itself the program of doctor and of topo measure, does not have them in it.
func openMPIWords() string { return strings.Join([]string{"ompi", "mpi", "init: "}, "_") }

// Alone names the fault of a rank that has ended and whose own process took itself for the
// only rank of a world of several; nil for nothing.
func (w *World) Alone(r *serve.Rank) *job.Failure {
	lib := w.libraries[r.App]
	if !lib.asks() || w.view.Size == 1 || w.asks[r.Number] || w.ranks.Spoke(r) {
		return nil
	}
	loaded := w.loaded[r.Number]
	if lib.first == r.Number && lib.static() {
		if has, err := loader.Mentions(lib.needs.File, openMPIWords()); has && err == nil {
			loaded = "Open MPI, static"
		}
	}
	if loaded == "" {
		return nil
	}
	return &job.Failure{Class: job.CauseProtocol, Phase: job.PhaseAlone, Text: loaded + ": " + notPreloaded}
}

// static reports whether an app's program is known to load no library at all.
func (l *appLibrary) static() bool { return l.readErr == nil && len(l.needs.Libraries) == 0 }

// openMPIAlone is the Open MPI that a process has loaded by itself, without
// libmpiinit; "" for none.
func openMPIAlone(pid int) string {
	files, _ := proc.Mapped(pid) // it has ended, or is not ours to look at
	name := strings.TrimSuffix(overlay.LibMPIInit, ".so")
	if slices.ContainsFunc(files, func(file string) bool { return strings.Contains(file, name) }) {
		return ""
	}
	if i := slices.IndexFunc(files, func(file string) bool { return isOpenMPI(filepath.Base(file)) }); i >= 0 {
		return filepath.Base(files[i])
	}
	return ""
}
