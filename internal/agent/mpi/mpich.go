package mpi

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/loader"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
)

// MPICH 3.4 to 4.1 with UCX hangs in MPI_Finalize once its ranks have talked over a
// network (native/libmpichfinalize/finalize.c). The ranks of programs that link it preload a
// library which ends that.

// fixName is in the name of that library, also where the user preloads it.
var fixName = strings.TrimSuffix(overlay.LibMPICHFinalize, ".so")

// mpichFix is what is known of a program that may link an MPICH that hangs.
type mpichFix struct {
	mpich string // its MPICH, if that is known to hang: version, device and file
	file  string // what its ranks preload; "" for nothing
	why   string // why that cannot be what it should
}

// findFix finds out about the MPICH of an app's program, unless its file shows that it links
// none, or nothing is to be done.
func (w *World) findFix(app int, lib *appLibrary) {
	env := w.envOf(app)
	switch {
	case w.view.Launch.MPICHFix == overlay.FixNone || lib.openMPI || strings.Contains(preloaded(env), fixName):
		return
	case w.view.Launch.MPICHFix == overlay.FixAll:
		file, why := w.library(overlay.LibMPICHFinalize, lib)
		lib.fix = &mpichFix{file: file, why: why}
		return
	case lib.readErr != nil || loader.Plain(lib.needs.Libraries):
		return
	}
	program, err := filepath.Abs(lib.needs.File)
	if err != nil { // this agent has no directory
		return
	}
	p := loader.Program{File: program, Dir: w.view.Apps[app].Dir, Env: append(env, proc.JobEnv(w.l.JobID))}
	file, why := w.library(overlay.LibMPICHFinalize, lib)
	look := func(ctx context.Context) mpichFix { return lookForFix(ctx, p, file, why) }
	late := mpichFix{why: fmt.Sprintf("its loader has not said within %v which MPI library it takes", askLimit)}
	lib.unknown++
	w.l.fixes.ask(programKey(p), look, late, func(f *mpichFix) {
		lib.unknown--
		lib.fix = f
	})
}

// lookForFix finds out whether a program links an MPICH that hangs, and whether its
// loader takes the file that ends that. Why says why there is none.
func lookForFix(ctx context.Context, p loader.Program, file, why string) (f mpichFix) {
	if _, err := os.Stat(p.Dir); err != nil { // then ranks run elsewhere
		p.Dir = ""
	}
	if f.mpich = findMPICH(ctx, p); f.mpich == "" {
		return mpichFix{}
	}
	if f.why = why; why != "" {
		return f
	}
	p.Env = append(slices.Clip(p.Env), preload(p.Env, file))
	libraries, err := loader.List(ctx, p)
	switch {
	case err != nil:
		f.why = err.Error()
	case !slices.ContainsFunc(libraries, func(l loader.Library) bool { return l.File == file }):
		f.why = "its loader does not take " + overlay.LibMPICHFinalize
	default:
		f.file = file
	}
	return f
}

// findMPICH describes the MPICH that a program's own loader would take, if that
// hangs.
func findMPICH(ctx context.Context, p loader.Program) string {
	if !loader.MayLoad(p, isMPICH) {
		return ""
	}
	libraries, err := loader.List(ctx, p)
	if err != nil { // nor will it start: the rank's own loader says why
		return ""
	}
	for _, l := range libraries {
		if isMPICH(l.Name) {
			if mpich := hangingMPICH(l.File); mpich != "" {
				return mpich
			}
		}
	}
	return ""
}

// isMPICH recognises libraries that may be MPICH's, by name. Those of its Fortran and
// C++ bindings need it and tell nothing.
func isMPICH(name string) bool {
	return isMPI(name) && !isOpenMPI(name) && !hasAnyPrefix(name, "libmpichfort", "libmpichcxx", "libmpifort", "libmpicxx")
}

// hangingMPICH describes the MPICH that a library is, if it hangs.
func hangingMPICH(file string) string {
	texts, err := loader.Texts(file, "MPII_Version_string", "MPII_Version_device")
	if err != nil || !hangs(texts[0], texts[1]) { // no MPICH, or none that tells
		return ""
	}
	return fmt.Sprintf("MPICH %s (%s, %s)", texts[0], texts[1], file)
}

// hangs tells which MPICHs hang, by their version, as in 4.1rc1, and device, as in
// ch4:ofi.
func hangs(version, device string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	since, until := major > 3 || major == 3 && minor >= 4, major > 4 || major == 4 && minor >= 2
	return since && !until && (device == "ch4:ucx" || strings.HasPrefix(device, "ch4:ucx:"))
}

// fixFile is what the ranks of an app preload because of their MPICH; "" for nothing.
// One node speaks for all.
func (w *World) fixFile(app int) string {
	lib := w.libraries[app]
	fix := lib.fix
	if fix == nil || fix.file == "" && fix.why == "" {
		return ""
	}
	program, speaks := path.Base(w.view.Apps[app].Argv[0]), w.view.Local(lib.first) != nil
	if fix.mpich != "" {
		program += " uses " + fix.mpich + " and"
	}
	if fix.why != "" {
		level := 0
		if len(w.view.Hosts) == 1 { // there it hangs seldom
			level = 1
		}
		if speaks {
			w.view.Note(level, "%s may hang in MPI_Finalize: %s", program, fix.why)
		}
		return ""
	}
	if speaks {
		w.view.Note(1, "%s gets %s, which ends the hang of MPICH 3.4 to 4.1 in MPI_Finalize (--mpi none leaves it)", program, overlay.LibMPICHFinalize)
	}
	return fix.file
}
