package loader

import (
	"os"
	"path/filepath"
	"strings"
)

// systemDirs are the directories of libraries of Linux distributions, as patterns.
var systemDirs = []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/*-linux-*", "/usr/lib/*-linux-*"}

// HasRuntime reports whether this host has a part of glibc, such as libdl.so.2, for a
// program: images that hold no more than some programs need may lack it. Static
// programs and scripts lack none, nor do those of musl, which loads all of its parts at
// once.
func HasRuntime(p Program, part string) bool {
	interpreter := Interpreter(p)
	if interpreter == "" || strings.Contains(filepath.Base(interpreter), "musl") {
		return true
	}
	dirs := strings.FieldsFunc(p.variable("LD_LIBRARY_PATH"), func(r rune) bool { return r == ':' || r == ';' })
	if system, err := filepath.EvalSymlinks(interpreter); err == nil {
		dirs = append(dirs, filepath.Dir(system))
	}
	for _, dir := range append(dirs, systemDirs...) {
		files, _ := filepath.Glob(filepath.Join(p.Path(dir), part)) // a pattern that is none fits nothing
		for _, file := range files {
			if _, err := os.Stat(file); err == nil {
				return true
			}
		}
	}
	return false
}
