package loader

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"
)

// mostOpened bounds how many libraries MayLoad opens: with more, the loader itself
// is as fast.
const mostOpened = 32

// cLibrary has the beginnings of the names of the C library's parts, and runtimes those
// of compilers, too: they need nothing but each other.
var (
	cLibrary = []string{
		"libc.so.", "libm.so.", "libmvec.so.", "libpthread.so.", "libdl.so.", "librt.so.", "libutil.so.", "libresolv.so.",
		"ld-linux", "ld64.so.", "libc.musl-", "ld-musl-",
	}
	runtimes = slices.Concat(cLibrary, []string{"libgcc_s.so.", "libstdc++.so.", "libgomp.so.", "libgfortran.so.", "libquadmath.so."})
)

// starters begin the names of the functions by which a program loads libraries or executes
// programs: syscall(2) may be execve.
var starters = []string{"dlopen", "dlmopen", "__libc_dlopen", "exec", "fexec", "posix_spawn", "system", "popen", "wordexp", "syscall"}

// Alone reports whether a program runs nothing but its own file and the C library's: it names
// no other library in libraries, and calls nothing that loads one or executes a program. In
// doubt, as with a static one, it does not say so.
func Alone(file string, libraries []string) bool {
	if slices.ContainsFunc(libraries, func(l string) bool { return !hasPrefix(l, cLibrary) }) {
		return false
	}
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	return err == nil && len(symbols) > 0 && !slices.ContainsFunc(symbols, func(s elf.ImportedSymbol) bool { return hasPrefix(s.Name, starters) })
}

// Plain reports whether a program that names these libraries needs no others than
// those of compilers and of the C library.
func Plain(libraries []string) bool {
	return !slices.ContainsFunc(libraries, func(l string) bool { return !isRuntime(l) })
}

func isRuntime(library string) bool { return hasPrefix(library, runtimes) }

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// MayLoad reports whether a program may run with a library that match takes: it, or
// a library that it needs, names one. In doubt it may: List knows, and takes longer.
func MayLoad(p Program, match func(name string) bool) bool {
	f, err := elf.Open(p.Path(p.File))
	if err != nil {
		return false
	}
	defer f.Close()
	interpreter := interpreterOf(f)
	if interpreter == "" {
		return false
	}
	system, err := filepath.EvalSymlinks(interpreter)
	if err != nil {
		return true
	}
	c := closure{match: match, seen: map[string]bool{}, dirs: []string{filepath.Dir(system)}}
	for _, dir := range strings.FieldsFunc(p.variable("LD_LIBRARY_PATH"), func(r rune) bool { return r == ':' || r == ';' }) {
		c.dirs = append(c.dirs, p.Path(dir))
	}
	return c.reaches(f, p.Path(p.File), nil)
}

// closure is the search for a library among those that a program needs.
type closure struct {
	match  func(string) bool
	dirs   []string // directories of any library
	seen   map[string]bool
	opened int
}

// reaches reports whether a file, which is open, may lead to a library sought.
// Libraries are sought in dirs, in those that the file names, and in above: those
// that the files which need it name.
func (c *closure) reaches(f *elf.File, file string, above []string) bool {
	names, err := f.ImportedLibraries()
	if err != nil {
		return true
	}
	dirs := above
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, _ := f.DynString(tag)
		for _, list := range lists {
			for dir := range strings.SplitSeq(list, ":") {
				dir = strings.NewReplacer("$ORIGIN", filepath.Dir(file), "${ORIGIN}", filepath.Dir(file)).Replace(dir)
				if strings.Contains(dir, "$") {
					return true
				}
				dirs = append(slices.Clip(dirs), dir)
			}
		}
	}
	for _, name := range names {
		if c.match(name) {
			return true
		}
		if isRuntime(name) || c.seen[name] {
			continue
		}
		c.seen[name] = true
		if c.library(name, dirs) {
			return true
		}
	}
	return false
}

// library is reaches for a library that is not open: for all of its name.
func (c *closure) library(name string, dirs []string) bool {
	found := false
	for _, dir := range slices.Concat(c.dirs, dirs) {
		file := filepath.Join(dir, name)
		f, err := elf.Open(file)
		if err != nil {
			continue
		}
		found = true
		c.opened++
		reached := c.opened > mostOpened || c.reaches(f, file, dirs)
		f.Close()
		if reached {
			return true
		}
	}
	return !found
}
