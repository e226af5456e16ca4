package mpi

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/loader"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// Open MPI 5 asks its launcher over PMIx alone. Ranks of programs that link it, or
// libpmix itself, are served by a helper of their node (native/pmix), which runs with
// the libpmix that the program takes: versions of it do not all understand each other.

// libPMIx is the SONAME of libpmix 2 to 6.
const libPMIx = "libpmix.so.2"

// pmixUse is what is known of a program that may speak PMIx.
type pmixUse struct {
	uses  string     // what it shows, or who says so; "" if it does not speak PMIx
	later bool       // its ranks ask how their MPI finds golaunch, if they have any (begins.go)
	alone bool       // what its ranks run can have none, see loader.Alone
	four  bool       // it may be Open MPI 4, which wants to be told
	plan  helperPlan // how the helper is run
	why   string     // why that cannot be
}

// needsPMIx reports whether an app's ranks are to be served over PMIx, speaks whether
// they are.
func (l *appLibrary) needsPMIx() bool { return l != nil && l.pmix != nil && l.pmix.uses != "" }
func (l *appLibrary) speaks() bool    { return l.needsPMIx() && l.pmix.why == "" }

// asks reports whether an app's ranks ask how their MPI finds golaunch.
func (l *appLibrary) asks() bool { return l != nil && l.pmix != nil && l.pmix.later }

// preloads reports whether those ranks preload what asks: not if they can have no MPI.
func (l *appLibrary) preloads() bool { return l.asks() && !l.pmix.alone }

// helperPlan is how the helper of a libpmix is run.
type helperPlan struct {
	library string // file of libpmix, or its name where only the loader of the helper finds it: equal for equal helpers
	argv    []string
	env     []string
}

// findPMIx finds out about the PMIx of an app's program, unless nothing is to be done.
func (w *World) findPMIx(app int, lib *appLibrary) {
	asked := ""
	switch {
	case w.view.Launch.NoMPI:
		return
	case w.view.Launch.PMIx:
		asked = "--mpi pmix"
	case w.view.Launch.OpenMPI && (lib.openMPI || lib.name == ""):
		return
	case lib.readErr != nil || loader.Plain(lib.needs.Libraries):
		alone := lib.readErr == nil && preloaded(w.envOf(app)) == "" && loader.Alone(lib.needs.File, lib.needs.Libraries)
		lib.pmix = &pmixUse{later: true, alone: alone}
		return
	}
	helper, why := w.library(overlay.PMIxHelper, lib)
	program, err := filepath.Abs(lib.needs.File)
	if err != nil || lib.readErr != nil {
		program = ""
	}
	p := loader.Program{File: program, Dir: w.view.Apps[app].Dir, Env: append(w.envOf(app), proc.JobEnv(w.l.JobID))}
	look := func(ctx context.Context) pmixUse { return lookForPMIx(ctx, p, asked, helper, why) }
	lib.unknown++
	w.l.pmixes.ask(asked+"\x00"+programKey(p), look, latePMIx(asked), func(u *pmixUse) {
		lib.unknown--
		lib.pmix = u
	})
}

// latePMIx stands for the answer of a loader that is slow. Ranks that need not speak PMIx from
// their start ask.
func latePMIx(asked string) pmixUse {
	if asked == "" {
		return pmixUse{later: true}
	}
	return pmixUse{uses: asked, why: fmt.Sprintf("the program's loader has not said within %v which libraries it takes", askLimit)}
}

// lookForPMIx finds out whether a program speaks PMIx, and how its helper, which is a
// file, is run. Asked says who says that it does; why, why there is no helper.
func lookForPMIx(ctx context.Context, p loader.Program, asked, helper, why string) (u pmixUse) {
	if _, err := os.Stat(p.Dir); err != nil { // then ranks run elsewhere
		p.Dir = ""
	}
	if asked == "" && !loader.MayLoad(p, func(name string) bool { return isMPI(name) || mayNeedPMIx(name) }) {
		return pmixUse{later: true}
	}
	var libraries []loader.Library
	if p.File != "" {
		libraries, _ = loader.List(ctx, p) // what does not start says why itself
	}
	u.uses = pmixIn(libraries, func(libmpi string) bool { return lacksPMI(p.Path(libmpi)) })
	if asked != "" {
		u.uses = asked
	}
	u.four = fileOf(libraries, openRTE) != "" || asked != "" && fileOf(libraries, openMPI5) == ""
	switch {
	case u.uses == "":
		mpich := slices.ContainsFunc(libraries, func(l loader.Library) bool { return isMPICH(l.Name) })
		return pmixUse{later: !mpich || u.four, four: u.four}
	case why != "":
		u.why = why
		return u
	}
	u.plan, u.why = planHelper(ctx, p, libraries, helper)
	return u
}

// mayNeedPMIx recognises libraries by name that may have a program need PMIx.
func mayNeedPMIx(name string) bool { return isOpenMPI(name) || name == libPMIx }

// Libraries by which Open MPIs are told apart: libmpi.so.40 is of 3 to 5, of which 3 and
// 4 have a run-time environment of their own.
const (
	openMPI5 = "libmpi.so.40"
	openRTE  = "libopen-rte.so."
)

// pmixIn says by which of its libraries a program needs PMIx; "" if it does not: Open
// MPI 3 and 4 take PMI-1 as well, and so do MPICHs, but for those of which alone says
// that they were built for PMIx alone.
func pmixIn(libraries []loader.Library, alone func(libmpi string) bool) string {
	libpmix := fileOf(libraries, libPMIx)
	if i := slices.IndexFunc(libraries, func(l loader.Library) bool { return isMPICH(l.Name) }); i >= 0 {
		if file := libraries[i].File; libpmix != "" && file != "" && alone(file) {
			return "MPICH built for PMIx (" + file + ")"
		}
		return ""
	}
	if fileOf(libraries, openRTE) != "" {
		return ""
	}
	if file := fileOf(libraries, openMPI5); file != "" {
		return "Open MPI 5 or later (" + file + ")"
	}
	return libpmix
}

// lacksPMI reports whether an MPICH can ask its launcher over PMIx alone: one that knows
// PMI-1 names the variable by which it finds its launcher.
func lacksPMI(libmpi string) bool {
	knows, err := loader.Mentions(libmpi, "PMI_FD")
	return err == nil && !knows
}

// fileOf is the file of the first library whose name begins so; "" where there is none.
func fileOf(libraries []loader.Library, name string) string {
	i := slices.IndexFunc(libraries, func(l loader.Library) bool { return strings.HasPrefix(l.Name, name) && l.File != "" })
	if i < 0 {
		return ""
	}
	return libraries[i].File
}

// libC is the SONAME of the GNU C library, which the helper needs.
const libC = "libc.so.6"

// planHelper plans the helper of a program that takes those libraries: with their
// libpmix, and all others where the program's loader finds them. It runs by itself, or
// if the program has another C library than the system's, by the program's loader.
func planHelper(ctx context.Context, p loader.Program, libraries []loader.Library, helper string) (plan helperPlan, why string) {
	dirs := searchPath(p, libraries)
	search := strings.Join(dirs, ":")
	plan.env, plan.argv = helperEnv(p.Env, search), []string{helper}
	alone := loader.Program{File: helper, Env: p.Env}
	own, err := loader.List(ctx, alone)
	theirs, interpreter := fileOf(libraries, libC), p.Path(cmp.Or(loader.Interpreter(p), fileOf(libraries, "ld-")))
	switch {
	case theirs != "" && err == nil && !sameFile(p.Path(theirs), fileOf(own, libC)),
		theirs != "" && err != nil && !sameFile(interpreter, loader.Interpreter(alone)):
		plan.argv = []string{interpreter, "--library-path", search, helper}
	case err != nil:
		return plan, fmt.Sprintf("%s does not run here: %v", overlay.PMIxHelper, err)
	default: // it may find libpmix beside its own libraries
		dirs = append(dirs, searchPath(loader.Program{}, own)...)
	}
	taken := fileOf(libraries, libPMIx)
	if taken != "" {
		taken = p.Path(taken)
	}
	plan.library = libPMIxOf(taken, dirs)
	plan.argv = append(plan.argv, "--fd", fmt.Sprint(proc.HelperFD), "--library", plan.library)
	return plan, ""
}

// searchPath is where the loader of a program seeks libraries at the user's will, and
// has found those that it takes.
func searchPath(p loader.Program, libraries []loader.Library) (dirs []string) {
	for _, dir := range strings.FieldsFunc(lastOf(p.Env, "LD_LIBRARY_PATH"), func(r rune) bool { return r == ':' || r == ';' }) {
		dirs = append(dirs, p.Path(dir))
	}
	for _, l := range libraries {
		if dir := filepath.Dir(p.Path(l.File)); l.File != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// libPMIxOf is the libpmix that a program takes, whatever links lead to it, or, where it
// takes none by itself, the one in the first of dirs; its name if none has it.
func libPMIxOf(taken string, dirs []string) string {
	files := []string{taken}
	for _, dir := range dirs {
		files = append(files, filepath.Join(dir, libPMIx))
	}
	for _, file := range files {
		if resolved, err := filepath.EvalSymlinks(file); file != "" && err == nil {
			return resolved
		}
	}
	return libPMIx
}

func sameFile(x, y string) bool {
	a, err := os.Stat(x)
	if err != nil {
		return false
	}
	b, err := os.Stat(y)
	return err == nil && os.SameFile(a, b)
}

// identities begin the names of variables by which another launcher, below which
// golaunch may run, tells its processes who they are. The helper is none of them.
var identities = []string{"PMIX_NAMESPACE=", "PMIX_RANK=", "PMIX_SERVER_", "PMIX_ID=", "PMIX_HOSTNAME=", "PMIX_SYSTEM_TMPDIR=",
	"PMIX_GDS_MODULE=", "PMIX_SECURITY_MODE=", "PMIX_PTL_MODULE=", "PMIX_BFROP_BUFFER_TYPE=", "PMIX_DSTORE_", "PMIX_KEEPALIVE_PIPE=", "PMIX_LAUNCHER_"}

// helperEnv is the environment of a helper whose program has env: with what it preloads
// left out, and libraries sought along search. A libpmix of a bundle that was moved finds
// its own by the variable that tells Open MPI so, as Open MPI has it.
func helperEnv(env []string, search string) (out []string) {
	for _, v := range env {
		if !hasAnyPrefix(v, identities...) && !hasAnyPrefix(v, preloadVariable, "LD_LIBRARY_PATH=", "LD_AUDIT=") {
			out = append(out, v)
		}
	}
	if moved := lastOf(env, "OPAL_PREFIX"); moved != "" && lastOf(env, "PMIX_PREFIX") == "" {
		out = append(out, "PMIX_PREFIX="+moved)
	}
	if search != "" {
		out = append(out, "LD_LIBRARY_PATH="+search)
	}
	return out
}

// lastOf is the value of a variable, of which the last counts.
func lastOf(env []string, name string) (value string) {
	for _, v := range env {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}

// Lacks says why the ranks of the world, which need PMIx to find each other, or to ask how
// they do, cannot have it, with the first of an app's; nil if none needs it, or all is well.
// Of what is well one node speaks for all.
func (w *World) Lacks() (first job.Rank, err error) {
	for app, lib := range w.libraries {
		if lib.asks() && lib.openMPI && w.view.Size > 1 {
			if _, why := w.library(overlay.LibMPIInit, lib); why != "" {
				return w.firstHere(app), fmt.Errorf("%s: Open MPI's ranks would not find each other: %s", path.Base(w.view.Apps[app].Argv[0]), why)
			}
		}
		if !lib.needsPMIx() {
			continue
		}
		program, speaks := path.Base(w.view.Apps[app].Argv[0]), w.view.Local(lib.first) != nil
		switch u := lib.pmix; {
		case u.why != "" && w.view.Size > 1:
			return w.firstHere(app), fmt.Errorf("%s needs PMIx (%s): %s", program, u.uses, u.why)
		case speaks && u.why != "":
			w.view.Note(1, "%s runs without PMIx (%s): %s", program, u.uses, u.why)
		case speaks:
			w.view.Note(1, "%s is served over PMIx (%s), with %s", program, u.uses, u.plan.library)
		}
	}
	return 0, nil
}

// firstHere is the lowest rank of an app that is on this node.
func (w *World) firstHere(app int) job.Rank {
	i := slices.IndexFunc(w.view.Ranks, func(r *serve.Rank) bool { return r.App == app })
	return w.view.Ranks[i].Number
}

// pmixEnv is what ranks need beside what the helper tells them; what the user sets
// counts more. Open MPI 4 takes a rank for alone unless it sees that a launcher is there:
// any that it knows will do. What ranks share goes to the world's directory, which goes
// with the job; names of files there are the same on two nodes of one machine. Nodes and
// worlds of one machine talk over its own network: Open MPI's TCP expects a peer to call
// from one address, and drops it when it calls from another of the machine's.
func (w *World) pmixEnv(app int, four bool) (env []string) {
	own := w.envOf(app)
	if four && lastOf(own, fluxJob) == "" {
		env = append(env, fluxJob+"=1")
	}
	if w.l.agent.OneMachine() && lastOf(own, tcpInclude) == "" && lastOf(own, tcpExclude) == "" {
		env = append(env, tcpInclude+"=lo")
	}
	env = append(env, w.yieldEnv(own)...)
	dir, err := w.l.Helpers.Dir(w.view.KVSName + sharedEnd) // libpmix empties its own before Open MPI is through
	if err != nil {
		return env
	}
	return append(env, sharedEnv(dir, own)...)
}

// Variables by which users choose the networks of Open MPI's TCP.
const (
	tcpInclude = "OMPI_MCA_btl_tcp_if_include"
	tcpExclude = "OMPI_MCA_btl_tcp_if_exclude"
)
