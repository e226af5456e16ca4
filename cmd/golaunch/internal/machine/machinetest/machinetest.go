// Package machinetest has a machine for tests, with nothing on it but the test's own
// things.
package machinetest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"testing/fstest"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
)

// New returns a machine with these files and environment, two GPUs and eight CPUs, on
// which sh and python3 are the only programs, and golaunch was called by its own name.
func New(files fstest.MapFS, environ ...string) machine.Machine {
	return machine.Machine{
		Called: "golaunch", Environ: environ,
		Dir: func() (string, error) { return "/work", nil },
		Read: func(name string, read func(io.Reader) error) error {
			f, ok := files[name]
			if !ok {
				return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
			}
			return read(bytes.NewReader(f.Data))
		},
		Stat:       func(name string) (fs.FileInfo, error) { return files.Stat(name) },
		HasProgram: func(name string) bool { return name == "sh" || name == "python3" },
		GPUs:       func() int { return 2 },
		CPUs:       func() int { return 8 },
	}
}
