// Package machine has the surroundings of a command line that change its meaning: the
// environment, files and programs of the machine that golaunch runs on.
package machine

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/network/placement/gpu"
)

// Machine answers the questions that a command line leaves open. A question asked twice
// has the same answer twice.
type Machine struct {
	Called  string   // the name that golaunch was called by
	Environ []string // NAME=value
	// Dir is the working directory.
	Dir func() (string, error)
	// Read hands the contents of a file to read, as files.Read does.
	Read func(name string, read func(io.Reader) error) error
	// Stat describes a file.
	Stat func(name string) (fs.FileInfo, error)
	// HasProgram reports whether a program of that name can be started.
	HasProgram func(name string) bool
	// GPUs and CPUs count.
	GPUs, CPUs func() int
}

// Here returns the machine that golaunch runs on. A long read is told on w.
func Here(w io.Writer) Machine {
	environ := os.Environ()
	return Machine{
		Called:  filepath.Base(os.Args[0]),
		Environ: environ,
		Dir:     os.Getwd,
		Read: func(name string, read func(io.Reader) error) error {
			return files.Read(w, name, read)
		},
		Stat: os.Stat,
		HasProgram: func(name string) bool {
			_, err := exec.LookPath(name)
			return err == nil
		},
		GPUs: func() int { return len(gpu.Read(os.DirFS("/"), environ).Devices) },
		CPUs: runtime.NumCPU,
	}
}

// Variable returns the value of an environment variable, "" if it is not set.
func (m *Machine) Variable(name string) string {
	v, _ := environ.Lookup(m.Environ, name)
	return v
}

// IsFile reports whether a name is a regular file's.
func (m *Machine) IsFile(name string) bool {
	info, err := m.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// SlurmJob are the variables that have the number of Slurm's allocation around golaunch.
var SlurmJob = []string{"SLURM_JOB_ID", "SLURM_JOBID"}

// InSlurm reports whether golaunch runs in an allocation of Slurm's.
func (m *Machine) InSlurm() bool {
	return slices.ContainsFunc(SlurmJob, func(name string) bool { return m.Variable(name) != "" })
}

// HetSize counts the components of the heterogeneous job of Slurm's around golaunch, 0
// where it is not one.
func (m *Machine) HetSize() int {
	n, _ := strconv.Atoi(m.Variable("SLURM_HET_SIZE"))
	return n
}
