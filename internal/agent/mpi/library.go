package mpi

import (
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// Open MPI 3 and 4 speak no PMI of their own. Their flux component, which a
// FLUX_JOB_ID switches on, loads the libpmi.so that this variable names.
const (
	fluxJob     = "FLUX_JOB_ID"
	fluxLibrary = "FLUX_PMI_LIBRARY_PATH"
)

// appLibrary is what is known of the MPI library of an app with local ranks.
type appLibrary struct {
	first   job.Rank // the app's lowest rank, whose node speaks for all
	needs   proc.Needs
	readErr error  // why those are not known: the program is a script, say
	name    string // an MPI library that the program's file names, or that it loads; "" for none
	loaded  bool   // the latter
	openMPI bool   // it is, or is said to be, Open MPI
	// The user knows why its ranks are alone.
	explained bool
	given     bool      // the user has named another libpmi.so
	why       string    // why Open MPI's ranks will not find each other; "" if they should
	unknown   int       // of the next two, which its program's loader has still to tell
	fix       *mpichFix // of its MPICH; nil if it links none
	pmix      *pmixUse  // nil if it speaks no PMIx
}

// Ready finds out about the MPI libraries of the world's local ranks, and reports whether all
// is known that they need to start. If not, the agent is told of what is Learned.
func (w *World) Ready() bool {
	ready := true
	for app := range w.view.Apps {
		lib := w.libraries[app]
		if lib == nil && slices.ContainsFunc(w.view.Ranks, func(r *serve.Rank) bool { return r.App == app }) {
			lib = w.lookAt(app)
			w.libraries[app] = lib
			w.findFix(app, lib)
			w.findPMIx(app, lib)
		}
		ready = ready && (lib == nil || lib.unknown == 0)
	}
	return ready
}

// envOf is the environment of an app's ranks before it is theirs: the launch
// message's.
func (w *World) envOf(app int) []string {
	return slices.Concat(w.view.Launch.Env, w.view.Apps[app].Env)
}

// lookAt notes what the file of an app's program shows of its MPI library.
func (w *World) lookAt(app int) *appLibrary {
	all := w.envOf(app)
	lib := &appLibrary{first: w.firstOf(app)}
	lib.needs, lib.readErr = proc.ProgramNeeds(w.ranks.Program(app), all) // what cannot be read is no MPI program, or no program: the warden will say
	for _, name := range lib.needs.Libraries {
		switch {
		case isOpenMPI(name):
			lib.name, lib.openMPI = name, true
		case isMPI(name) && lib.name == "":
			lib.name = name
		}
	}
	lib.openMPI = lib.openMPI || w.view.Launch.OpenMPI && lib.name == ""
	lib.given = slices.ContainsFunc(all, func(v string) bool { return strings.HasPrefix(v, fluxLibrary+"=") })
	return lib
}

// Env is an app's own environment with what its ranks need because of their MPI library, or
// of --profile.
func (w *World) Env(app int) []string {
	env := w.view.Apps[app].Env
	lib := w.libraries[app]
	if lib == nil { // it has no ranks here
		return env
	}
	if lib.speaks() {
		return slices.Concat(env, w.pmixEnv(app, lib.pmix.four), w.preloadEnv(app))
	}
	return slices.Concat(w.openMPIEnv(app), env, w.preloadEnv(app)) // what the user sets counts more than Open MPI's
}

// openMPIEnv is what the ranks of an app need because they use Open MPI.
func (w *World) openMPIEnv(app int) (env []string) {
	lib := w.libraries[app]
	if !lib.openMPI || w.view.Launch.NoMPI || lib.given || lib.needsPMIx() || lib.asks() {
		return nil
	}
	return w.fluxEnv(app)
}

// fluxEnv returns the variables by which the Open MPI 3 or 4 of an app takes golaunch for Flux.
func (w *World) fluxEnv(app int) (env []string) {
	lib := w.libraries[app]
	file, why := w.library(overlay.LibPMI, lib)
	if lib.why = why; why != "" {
		if w.view.Local(lib.first) != nil {
			w.view.Note(0, "%s: Open MPI's ranks will not find each other: %s", w.view.Apps[app].Argv[0], why)
		}
		return nil
	}
	id := fluxID(w.view.KVSName)
	own := w.envOf(app)
	env = append([]string{fluxJob + "=" + id, fluxLibrary + "=" + file}, w.l.openMPIDirs(own)...)
	env = append(env, w.yieldEnv(own)...)
	w.l.expectOpenMPILeft(openMPILeaves(id, own))
	if w.l.agent.OneMachine() && len(w.view.Hosts) > 1 {
		env = append(env, "GOLAUNCH_ONE_MACHINE=1")
	}
	return env
}

// fluxID is a number for a world, as good as distinct: Open MPI names shared
// memory after it. Its lowest 16 bits must stay below 0x8000, as Open MPI clears
// that bit in some places and not in others.
func fluxID(world string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(world)) // cannot fail
	return fmt.Sprint(h.Sum32()&0x7fff7fff | 1)
}

// firstOf is the lowest rank of an app.
func (w *World) firstOf(app int) job.Rank {
	for _, b := range w.view.Blocks { // in rank order
		if b.App == app {
			return b.First
		}
	}
	return -1
}

// library is a file on this node with a library that the launch message brought, or
// why there is none for a program.
func (w *World) library(name string, program *appLibrary) (file, why string) {
	brought := slices.IndexFunc(w.view.Launch.Libraries, func(l overlay.Library) bool { return l.Name == name })
	if brought < 0 {
		return "", name + " was not found beside golaunch, in lib/golaunch; build it with make build"
	}
	contents := w.view.Launch.Libraries[brought].Contents
	own, err := proc.LibraryPlatform(contents)
	if err == nil && program.readErr == nil && own != program.needs.Platform {
		err = fmt.Errorf("golaunch's %s is for %s, the program for %s", name, own, program.needs.Platform)
	}
	if err == nil {
		file, err = w.l.agent.MemFile(name, contents)
	}
	if err != nil {
		return "", err.Error()
	}
	return file, ""
}

// isMPI recognises MPI libraries by name.
func isMPI(library string) bool {
	return isOpenMPI(library) || !strings.HasPrefix(library, fixName) && hasAnyPrefix(library, "libmpi.so", "libmpi_", "libmpich", "libmpifort", "libmpicxx")
}

// isOpenMPI recognises those of Open MPI 2 and later. libmpi.so.12 is what
// MPICH and all its descendants have agreed on. A file's name has more numbers.
// Those that its mpirun is made of (libopen-rte, libopen-pal) do not count.
func isOpenMPI(library string) bool {
	return hasAnyPrefix(library+".", "libmpi.so.20.", "libmpi.so.40.",
		"libmpi_mpifh.", "libmpi_usempi", "libmpi_cxx.", "liboshmem.")
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// ExplainSilence tells the user why an MPI program may have thought that it is alone: a
// rank of it has ended and never asked who it is.
func (w *World) ExplainSilence(r *serve.Rank) {
	lib := w.libraries[r.App]
	if lib == nil || w.view.Launch.NoMPI || lib.asks() && isOpenMPI(lib.name) || lib.first != r.Number || lib.name == "" || lib.explained || lib.why != "" || lib.needsPMIx() ||
		w.view.Size == 1 || w.view.Ending() || w.ranks.Spoke(r) {
		return
	}
	lib.explained = true
	text := fmt.Sprintf("%s never asked golaunch who it is; if its ranks each say that they are 0 of 1, ", path.Base(w.view.Apps[r.App].Argv[0]))
	switch {
	case lib.given:
		text += "the " + fluxLibrary + " that you set may not fit; without it golaunch sets its own"
	case isOpenMPI(lib.name):
		text += "their Open MPI lacks the flux component of versions 3 and 4: start it without --mpi openmpi"
	case lib.loaded:
		text += fmt.Sprintf("what starts them closes PMI_FD, as Python's subprocess and sudo do: start it with --pmi-port; it uses %s", lib.name)
	default:
		text += fmt.Sprintf("their MPI library (%s) was built for another launcher: golaunch serves PMI-1 and PMI-2 on PMI_FD", lib.name)
	}
	w.view.Note(0, "%s", text)
}
