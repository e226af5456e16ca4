package proc

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Needs lists the needs of a program, as its file has them.
type Needs struct {
	Libraries []string // shared libraries that it names itself, as in libc.so.6
	Platform  string   // processor and word size: the same for all files of a process
	File      string   // its path
}

// ProgramNeeds looks at the file that an app runs on this host, given its
// ranks' environment. It does not see through scripts, nor what the libraries
// need in their turn.
func ProgramNeeds(a App, env []string) (Needs, error) {
	path, ok := lookup(env, "PATH")
	if !ok {
		path = defaultPath
	}
	dirs := filepath.SplitList(along(a.Path, path))
	for i, dir := range dirs {
		dirs[i] = below(a.Dir, dir)
	}
	name := a.Argv[0]
	if strings.Contains(name, "/") {
		name = below(a.Dir, name)
	}
	file, missing := findProgram(name, strings.Join(dirs, string(filepath.ListSeparator)))
	if missing != nil {
		return Needs{}, missing
	}
	f, err := elf.Open(file)
	if err != nil {
		return Needs{}, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return Needs{}, fmt.Errorf("%s: %w", file, err)
	}
	return Needs{Libraries: libraries, Platform: platform(f), File: file}, nil
}

// LibraryPlatform is the Needs.Platform of the programs that can load a shared
// library, given its contents.
func LibraryPlatform(contents []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(contents))
	if err != nil {
		return "", err
	}
	return platform(f), nil
}

func platform(f *elf.File) string { return fmt.Sprint(f.Machine, " ", f.Class, " ", f.Data) }

// below is path as seen from dir, where that is not empty.
func below(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path // not Join, which would turn ./x into x
}

// mostLooked bounds the processes that LoadedFile looks at.
const mostLooked = 64

// identity names the variables by which launchers of any kind tell ranks their job,
// each in its own way.
var identity = []string{
	jobVariable, "PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE",
	"PMIX_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE",
}

// LoadedLibrary returns the name, as in libc.so.6, of the file that LoadedFile finds.
func LoadedLibrary(pid int, match func(name string) bool) string {
	file := LoadedFile(pid, match)
	if file == "" {
		return ""
	}
	return filepath.Base(file)
}

// LoadedFile is the first shared library that a process or one of its descendants
// has loaded and whose name match takes; "" if there is none, or they cannot be
// looked at. Descendants that another launcher has started, which the process then
// is or runs, do not count.
func LoadedFile(pid int, match func(name string) bool) string {
	pids := []int{pid}
	for i := 0; i < len(pids) && i < mostLooked; i++ {
		dir := fmt.Sprintf("/proc/%d", pids[i])
		files, _ := Mapped(pids[i]) // it has ended, or is not ours to look at
		if at := slices.IndexFunc(files, func(file string) bool { return match(filepath.Base(file)) }); at >= 0 && SameLauncher(pid, pids[i]) {
			return files[at]
		}
		threads, _ := filepath.Glob(dir + "/task/*/children")
		for _, file := range threads {
			list, _ := os.ReadFile(file) // it may have ended
			for _, word := range strings.Fields(string(list)) {
				if child, err := strconv.Atoi(word); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return ""
}

// EnvironOf is the environment with which a process has begun; none of one that has ended.
func EnvironOf(pid int) []string {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return strings.FieldsFunc(string(env), func(r rune) bool { return r == 0 })
}

// SameLauncher reports whether two processes are told the same identity.
func SameLauncher(a, b int) bool {
	x, y := EnvironOf(a), EnvironOf(b)
	for _, name := range identity {
		v, ok := lookup(x, name)
		w, also := lookup(y, name)
		if v != w || ok != also {
			return false
		}
	}
	return true
}

// Mapped are the files that a process has mapped, each once, in the order of their
// addresses: its program and its shared libraries among them.
func Mapped(pid int) (files []string, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	for line := range strings.Lines(string(maps)) {
		// Address, mode, offset, device, inode, and then the file.
		at := strings.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		if file := strings.TrimSuffix(line[at:], "\n"); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, err
}
