// Command collbench measures the operations of libgolaunch on a test cluster of
// this machine, beside a star of TCP connections (package star below) and beside MPICH
// over TCP, and writes docs/results/collectives.md (docs/design.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
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

// Bytes of a rank's buffers at most: where a node has one rank, and where it has several.
const (
	mostAlone = 64 << 20
	mostOf    = 10 << 20
)

func main() { results.Main("collbench", run) }

func parse(args []string) (settings, error) {
	s := settings{}
	f := flag.NewFlagSet("collbench", flag.ContinueOnError)
	f.IntVar(&s.nodes, "nodes", 8, "number of nodes")
	f.IntVar(&s.ppn, "ppn", 8, "ranks per node, of the larger jobs")
	f.IntVar(&s.degree, "degree", 8, "degree of the tree")
	f.StringVar(&s.seconds, "seconds", "0.1", "for each operation and size")
	f.StringVar(&s.limit, "limit", "45", "`seconds` for each of six jobs; what it has not measured by then is left out")
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

// tables are the readings of all ways, of jobs with one rank per node and with several.
type tables struct{ few, many readings }

func measure(ctx context.Context, c *cluster.Cluster, built string, s settings) (t tables, err error) {
	ways := []string{"treebench", "star"}
	if _, none := exec.LookPath("mpicc"); none == nil {
		ways = append(ways, "mpibench")
	}
	job := func(program string, ppn, most int) (readings, error) {
		argv := []string{
			"env", "UCX_TLS=tcp,self", // for MPICH: the nodes are one machine, which it would make use of
			filepath.Join(built, "golaunch"), "-f", c.HostFile(), "--ssh-config", c.SSHConfig(),
			"-n", fmt.Sprint(s.nodes * ppn), "-N", fmt.Sprint(ppn), "--degree", fmt.Sprint(s.degree), "--timeout", s.limit,
			filepath.Join(built, program), s.seconds, fmt.Sprint(most),
		}
		cmd := c.CommandContext(ctx, cluster.Head, argv...)
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
	jobs := func(ppn, most int) (readings, error) {
		all := readings{}
		for _, program := range ways {
			r, err := job(program, ppn, most)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, r)
		}
		return all, nil
	}
	if t.few, err = jobs(1, mostAlone); err == nil {
		t.many, err = jobs(s.ppn, mostOf)
	}
	return t, err
}
