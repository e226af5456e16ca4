// Package loader finds the shared libraries that a program would run with on this host,
// and reads them. The program's own dynamic loader decides, given the ranks'
// environment: nobody else knows all of its rules.
package loader

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Program is a program as it would be started.
type Program struct {
	File string   // its path, absolute or relative to Dir
	Dir  string   // the working directory; "" is this process's own
	Env  []string // NAME=value; of several with one name the last counts
}

// Library is a shared library that a program would run with.
type Library struct {
	Name string // as in libc.so.6
	File string // its path; "" if the loader does not find it
}

// killed is the time that a loader may take to end once it was killed.
const killed = time.Second

// List asks the loader of a program for all libraries that the program would run
// with, in the order in which their symbols are sought, and first those of
// LD_PRELOAD. Static programs and scripts have none. The end of the context ends the
// loader. Where the program would not start, the error holds the loader's words, and
// the list is as far as the loader came.
func List(ctx context.Context, p Program) ([]Library, error) {
	f, err := elf.Open(p.Path(p.File))
	if err != nil {
		if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
			return nil, fmt.Errorf("program: %w", err)
		}
		return nil, nil
	}
	interpreter := interpreterOf(f)
	f.Close()
	if interpreter == "" {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, interpreter, "--list", p.Path(p.File))
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.Dir, append([]string{}, p.Env...), killed
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err = cmd.Run()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		err = fmt.Errorf("%s --list %s: %w: %s", interpreter, p.File, err, strings.TrimSpace(words.String()))
	}
	return parseList(out.String()), err
}

// parseList reads the output of loaders: "NAME => FILE (ADDRESS)", and "FILE (ADDRESS)"
// for a library named by its path, such as the loader itself and the kernel's own
// library, which has no file.
func parseList(text string) []Library {
	var list []Library
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, file, found := strings.Cut(line, " => ")
		if !found {
			name, file = "", line
		}
		if i := strings.LastIndex(file, " (0x"); i >= 0 {
			file = file[:i]
		}
		if !strings.Contains(file, "/") {
			file = "" // "not found", or without a file
		}
		if !found && file == "" {
			continue
		}
		if !found {
			name = filepath.Base(file)
		}
		list = append(list, Library{Name: name, File: file})
	}
	return list
}

// Interpreter returns the dynamic loader that a program asks for; "" if it is static,
// or no program.
func Interpreter(p Program) string {
	f, err := elf.Open(p.Path(p.File))
	if err != nil {
		return ""
	}
	defer f.Close()
	return interpreterOf(f)
}

// Path returns a path as seen from the program's working directory.
func (p *Program) Path(file string) string {
	if p.Dir == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(p.Dir, file)
}

// variable returns the value of a variable of the program's environment.
func (p *Program) variable(name string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// interpreterOf returns the dynamic loader that a program asks for; "" if it is static.
func interpreterOf(f *elf.File) string {
	const longest = 4096
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz <= longest {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err != nil {
				return ""
			}
			return string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}
