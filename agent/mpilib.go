package agent

import (
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
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
	name    string   // an MPI library that the program's file names, or that it loads; "" for none
	loaded  bool     // the latter
	openMPI bool     // it is, or is said to be, Open MPI
	given   bool     // the user has named another libpmi.so
	why     string   // why Open MPI's ranks will not find each other; "" if they should
}

// openMPIEnv returns the variables that the ranks of an app need beside those
// of nodeEnv because of their MPI library, and notes what that is.
func (a *Agent) openMPIEnv(w *world, app int) (env []string) {
	l := a.launch
	spec := proc.App{Argv: a.program(w, app), Dir: w.Apps[app].Dir, Path: w.Apps[app].Path}
	all := slices.Concat(l.Env, w.Apps[app].Env)
	needs, err := proc.ProgramNeeds(spec, all) // what cannot be read is no MPI program, or no program: the warden will say
	lib := &appLibrary{first: w.firstOf(app)}
	w.libraries[app] = lib
	for _, name := range needs.Libraries {
		switch {
		case isOpenMPI(name):
			lib.name, lib.openMPI = name, true
		case isMPI(name) && lib.name == "":
			lib.name = name
		}
	}
	lib.openMPI = lib.openMPI || l.OpenMPI
	lib.given = slices.ContainsFunc(all, func(v string) bool { return strings.HasPrefix(v, fluxLibrary+"=") })
	if !lib.openMPI || lib.given {
		return nil
	}
	file, why := a.pmiLibrary(needs.Platform, err == nil)
	if lib.why = why; why != "" {
		if w.byRank[lib.first] != nil {
			a.note(0, "%s: Open MPI's ranks will not find each other: %s", w.Apps[app].Argv[0], why)
		}
		return nil
	}
	env = []string{fluxJob + "=" + fluxID(w.KVSName), fluxLibrary + "=" + file}
	if a.common.Bootstrap == overlay.BootstrapFork && len(w.nodes) > 1 {
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
func (w *world) firstOf(app int) job.Rank {
	for _, b := range w.Blocks { // in rank order
		if b.App == app {
			return b.First
		}
	}
	return -1
}

// pmiLibrary is a file on this node with the libpmi.so that the launch message
// brought, or why there is none for programs of the given platform.
func (a *Agent) pmiLibrary(platform string, known bool) (file, why string) {
	if len(a.launch.PMILibrary) == 0 {
		return "", "libpmi.so was not found beside golaunch, in lib/golaunch; build it with make native"
	}
	own, err := proc.LibraryPlatform(a.launch.PMILibrary)
	if err == nil && known && own != platform {
		err = fmt.Errorf("golaunch's libpmi.so is for %s, the program for %s", own, platform)
	}
	if err == nil && a.memLibrary == nil {
		a.memLibrary, err = unix.MemFile("libpmi.so", a.launch.PMILibrary)
	}
	if err != nil {
		return "", err.Error()
	}
	return unix.DescriptorPath(a.memLibrary), ""
}

// isMPI recognises MPI libraries by name.
func isMPI(library string) bool {
	return isOpenMPI(library) || hasAnyPrefix(library, "libmpi.so", "libmpi_", "libmpich", "libmpifort", "libmpicxx")
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

// explainSilence tells the user why an MPI program thinks that it is alone: a
// rank of it has ended and never spoke PMI.
func (a *Agent) explainSilence(r *rank) {
	w := r.world
	lib := w.libraries[r.app]
	if lib == nil || lib.first != r.rank || lib.name == "" && !lib.openMPI || lib.why != "" ||
		w.Size == 1 || a.killed || w.killed || w.pmi.Initialised(r.rank) {
		return
	}
	program := path.Base(w.Apps[r.app].Argv[0])
	text := fmt.Sprintf("%s never asked golaunch who it is; if its ranks each say that they are 0 of 1, ", program)
	switch {
	case lib.loaded && isOpenMPI(lib.name) && !lib.openMPI:
		text += fmt.Sprintf("start it with --open-mpi: it uses Open MPI (%s), which its file does not show", lib.name)
	case lib.given:
		text += "the " + fluxLibrary + " that you set may not fit; without it golaunch sets its own"
	case lib.openMPI:
		text += "their Open MPI lacks the flux component of versions 3 and 4 (5 has only PMIx, which golaunch does not serve)"
	default:
		text += fmt.Sprintf("their MPI library (%s) was built for another launcher: golaunch serves PMI-1 and PMI-2 on PMI_FD", lib.name)
	}
	a.note(0, "%s", text)
}
