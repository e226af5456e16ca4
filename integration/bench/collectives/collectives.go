// Package collectives measures the operations of libgolaunch on a test cluster of
// this machine, beside a star of TCP connections (package star below) and beside MPICH
// over TCP, and writes docs/results/collectives.md (docs/architecture.md).
package collectives

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// settings choose the measurements.
type settings struct {
	nodes, ppn, degree int
	seconds            string // for each operation and size
	limit              string // for each job; operations not measured by then are left out
	results.Frame
}

// Bytes of a rank's buffers at most: where a node has one rank, and where it has several.
const (
	mostAlone = 64 << 20
	mostOf    = 10 << 20
)

func parse(f *results.Flags) (settings, error) {
	s := settings{}
	f.IntVar(&s.nodes, "nodes", 8, "number of nodes")
	f.IntVar(&s.ppn, "ppn", 8, "ranks per node, of the larger jobs")
	f.IntVar(&s.degree, "degree", 8, "degree of the tree")
	f.StringVar(&s.seconds, "seconds", "0.1", "for each operation and size")
	f.StringVar(&s.limit, "limit", "45", "`seconds` for each of seven jobs; operations not measured by then are left out")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.nodes < 2 || s.ppn < 1 || s.degree < 1 {
		return s, errors.New("-nodes is at least 2, -ppn and -degree at least 1")
	}
	return s, nil
}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	built, err := programs.Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	var tables tables
	config := cluster.Config{Nodes: s.nodes, Share: programs.Shared(built), Slurm: cluster.SlurmUnavailable() == nil}
	err = cluster.With(ctx, built, config, func(c *cluster.Cluster, _ string) error {
		tables, err = measure(ctx, &bench{s, c, built, config.Slurm})
		return err
	})
	if err != nil {
		return err
	}
	return s.Write(page(s, tables))
}

// timedOut is golaunch's exit status after --timeout.
const timedOut = 124

// tables are the readings of all ways, of jobs with one rank per node and with several,
// and those of one rank per node whose tree has other links.
type tables struct{ few, tls, many readings }

// bench has the cluster for the measurements.
type bench struct {
	settings
	*cluster.Cluster
	built string
	slurm bool
}

func measure(ctx context.Context, b *bench) (t tables, err error) {
	if t.few, err = b.jobs(ctx, 1, mostAlone); err != nil {
		return t, err
	}
	if b.slurm {
		if t.tls, err = b.allocated(ctx); err != nil {
			return t, err
		}
		for _, way := range []string{"star", "mpi"} {
			t.tls[way] = t.few[way]
		}
	}
	t.many, err = b.jobs(ctx, b.ppn, mostOf)
	return t, err
}

// jobs returns the readings of all programs.
func (b *bench) jobs(ctx context.Context, ppn, most int) (readings, error) {
	ways := []string{"treebench", "star"}
	if _, none := exec.LookPath("mpicc"); none == nil {
		ways = append(ways, "mpibench")
	}
	all := readings{}
	for _, program := range ways {
		r, err := b.job(ctx, nil, program, ppn, most, "-f", b.HostFile(), "--ssh-config", b.SSHConfig())
		if err != nil {
			return nil, err
		}
		maps.Copy(all, r)
	}
	return all, nil
}

// allocated returns the tree's readings in an allocation of Slurm's, where its links
// are connections of TLS.
func (b *bench) allocated(ctx context.Context) (readings, error) {
	a, err := b.Allocate(ctx, b.nodes, 1)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return b.job(ctx, a.Env, "treebench", 1, mostAlone, "--bootstrap", "slurm")
}

// job returns the readings that a program prints on all nodes.
func (b *bench) job(ctx context.Context, env []string, program string, ppn, most int, flags ...string) (readings, error) {
	argv := append([]string{
		"env", "UCX_TLS=tcp,self", // for MPICH: the nodes are one machine, which it would make use of
		filepath.Join(b.built, "golaunch"),
	}, flags...)
	argv = append(argv, "-n", fmt.Sprint(b.nodes*ppn), "-N", fmt.Sprint(ppn), "--degree", fmt.Sprint(b.degree), "--timeout", b.limit,
		filepath.Join(b.built, program), b.seconds, fmt.Sprint(most))
	cmd := b.CommandContext(ctx, cluster.Head, argv...)
	if env != nil {
		cmd.Env = append(cmd.Environ(), env...)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == timedOut {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, stderr.String())
	}
	return parseReadings(string(out))
}
