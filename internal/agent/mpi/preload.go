package mpi

import (
	"path"
	"strings"

	"github.com/golaunch/golaunch/internal/overlay"
)

const preloadVariable = "LD_PRELOAD="

// preloaded is the user's LD_PRELOAD.
func preloaded(env []string) (own string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, preloadVariable); ok {
			own = value
		}
	}
	return own
}

// preload is LD_PRELOAD with a file behind the user's own.
func preload(env []string, file string) string {
	if own := preloaded(env); strings.Trim(own, ": ") != "" {
		return preloadVariable + own + ":" + file
	}
	return preloadVariable + file
}

// profileLibrary is the file that an app's ranks preload to count, "" for none. One
// node speaks for all.
func (w *World) profileLibrary(app int) string {
	if w.view.Launch.Profile == "" {
		return ""
	}
	lib := w.libraries[app]
	name := overlay.LibProfileMPICH
	if lib.openMPI {
		name = overlay.LibProfileOpenMPI
	}
	file, why := w.library(name, lib)
	if why != "" && w.view.Local(lib.first) != nil {
		w.view.Note(0, "--profile: %s is not counted: %s", path.Base(w.view.Apps[app].Argv[0]), why)
	}
	return file
}

// preloadEnv is what the ranks of an app preload beside what the user has them: the
// profiler in front, so that tools of others have what the program calls behind it,
// and golaunch's own at the end.
func (w *World) preloadEnv(app int) []string {
	profiler, fix := w.profileLibrary(app), w.fixFile(app)
	begins, env := w.beginsEnv(app)
	own := preloaded(w.envOf(app))
	var files []string
	for _, f := range []string{profiler, strings.Trim(own, ": "), fix, begins} {
		if f != "" {
			files = append(files, f)
		}
	}
	if profiler == "" && fix == "" && begins == "" {
		return nil
	}
	return append(env, preloadVariable+strings.Join(files, ":"), sanitizerEnv(w.envOf(app)))
}

// sanitizerVariable has the options of a program that was built with ASan.
const sanitizerVariable = "ASAN_OPTIONS"

// sanitizerEnv has ASan take what is preloaded before its own runtime, whereupon it
// would end the program. What is preloaded takes it back (native/preload.h).
func sanitizerEnv(env []string) string {
	const option = "verify_asan_link_order=no"
	if own := lastOf(env, sanitizerVariable); own != "" {
		return sanitizerVariable + "=" + own + ":" + option
	}
	return sanitizerVariable + "=" + option
}
