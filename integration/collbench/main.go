// Command collbench measures the operations of libgolaunch on a test cluster of
// this machine, beside the same data brought to one rank and back, and beside
// MPICH over TCP, and writes docs/results/collectives.md (docs/design.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// settings say what is measured.
type settings struct {
	nodes, ppn, degree int
	seconds            string // for each operation and size
	limit              string // for each job; what is not measured by then is left out
	out                string
	shared             bool
}

func main() { results.Main("collbench", run) }

func parse(args []string) (settings, error) {
	s := settings{}
	f := flag.NewFlagSet("collbench", flag.ContinueOnError)
	f.IntVar(&s.nodes, "nodes", 64, "number of nodes")
	f.IntVar(&s.ppn, "ppn", 8, "ranks per node, of the larger job")
	f.IntVar(&s.degree, "degree", 8, "degree of the tree")
	f.StringVar(&s.seconds, "seconds", "0.1", "for each operation and size")
	f.StringVar(&s.limit, "limit", "75", "`seconds` for each of three jobs; what it has not measured by then is left out")
	f.BoolVar(&s.shared, "shared", false, "say that other programs ran at the same time")
	f.StringVar(&s.out, "o", "", "write to `FILE`; else to standard output")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 || s.nodes < 2 || s.ppn < 1 || s.degree < 1 {
		return s, errors.New("usage: collbench [flags]; 2 nodes at least")
	}
	return s, nil
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	var tables tables
	err = programs.OnCluster(ctx, s.nodes, func(c *cluster.Cluster, built string) error {
		tables, err = measure(ctx, c, built, s)
		return err
	})
	if err != nil {
		return err
	}
	return results.Write(s.out, page(s, tables))
}

// timedOut is golaunch's exit status after --timeout.
const timedOut = 124

// tables are the readings of each job.
type tables struct {
	many, few, mpi readings // ppn ranks per node; one; one of MPI, nil if there is none
}

func measure(ctx context.Context, c *cluster.Cluster, built string, s settings) (t tables, err error) {
	job := func(ppn int, program string) readings {
		if err != nil {
			return nil
		}
		argv := []string{filepath.Join(built, "golaunch"), "-f", c.HostFile(), "--ssh-config", c.SSHConfig(),
			"-n", fmt.Sprint(s.nodes * ppn), "-N", fmt.Sprint(ppn), "--degree", fmt.Sprint(s.degree), "--timeout", s.limit, filepath.Join(built, program), s.seconds}
		cmd := c.CommandContext(ctx, cluster.Head, argv...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		var out []byte
		out, err = cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == timedOut {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", program, err, stderr.String())
			return nil
		}
		var r readings
		r, err = parseReadings(string(out))
		return r
	}
	t.many = job(s.ppn, "treebench")
	t.few = job(1, "treebench")
	if _, none := exec.LookPath("mpicc"); none == nil {
		t.mpi = job(1, "mpibench")
	}
	return t, err
}
