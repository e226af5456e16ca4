package launcher

import (
	"os"
	"path/filepath"

	"github.com/golaunch/golaunch/internal/overlay"
)

// maxLibrary bounds a library, in bytes: it travels to every node.
const maxLibrary = 1 << 20

// mpichFix returns the launch message's word for the ranks that get LibMPICHFinalize.
func (o *Options) mpichFix() overlay.Fix {
	switch {
	case o.MPI.NoMPICHFix:
		return overlay.FixNone
	case o.MPI.MPICHFix:
		return overlay.FixAll
	}
	return overlay.FixAffected
}

// libraries returns those for ranks of some MPI libraries, as far as they were built.
// Only a node sees which its programs take.
func (r *run) libraries() []overlay.Library {
	var names []string
	if !r.options.Launch.NoMPI {
		names = append(names, overlay.LibPMI, overlay.LibMPIInit, overlay.PMIxHelper)
	}
	if r.options.mpichFix() != overlay.FixNone {
		names = append(names, overlay.LibMPICHFinalize)
	}
	if r.options.Report.ProfileFile != "" {
		names = append(names, overlay.LibProfileMPICH, overlay.LibProfileOpenMPI)
	}
	var list []overlay.Library
	for _, name := range names {
		if contents := library(name); contents != nil {
			list = append(list, overlay.Library{Name: name, Contents: contents})
		}
	}
	return list
}

// library returns the contents of a library from lib/golaunch beside golaunch's
// directory or in it; nil if it was not built.
func library(name string) []byte {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	dir := filepath.Dir(path)
	for _, dir := range []string{filepath.Dir(dir), dir} {
		file := filepath.Join(dir, "lib", "golaunch", name)
		if info, err := os.Stat(file); err != nil || info.Size() > maxLibrary {
			continue
		}
		if contents, err := os.ReadFile(file); err == nil {
			return contents
		}
	}
	return nil
}
