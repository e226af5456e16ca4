// Package pmi measures the exchange of figures 3.3 and 3.4 of
// [Sridhar] on test clusters of this machine: every rank puts one value, enters
// the fence, and gets two values or everyone's. It holds every cache policy
// beside Hydra and beside the floor, a server in C that answers from a constant
// (native/programs/pmifloor.c), and writes docs/results/pmi.md.
//
// The clients time their own steps, so that launching is not in the figures.
// Contenders run in turn; a table quotes medians, and ratios are medians over
// the pairs of runs. Nothing else should run on the machine.
package pmi

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings choose the measurements.
type settings struct {
	results.Frame
	nodes    []int
	ranks    int // per node
	policies []string
	bin      string
}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	if err := results.Root(); err != nil {
		return err
	}
	if s.bin, err = results.Built("golaunch", "native/pmifloor"); err != nil {
		return err
	}
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		return errors.New("no mpiexec.hydra to compare with: apt-get install mpich")
	}
	readings, err := measure(ctx, s)
	if err != nil {
		return err
	}
	var page strings.Builder
	preamble(&page, s)
	for _, p := range patterns {
		if err := table(&page, s, p, readings); err != nil {
			return err
		}
	}
	return s.Write(page.String())
}

func parse(f *results.Flags) (settings, error) {
	var s settings
	f.Runs = 3
	var all []string
	for _, p := range cache.Policies() {
		all = append(all, string(p))
	}
	f.IntVar(&s.ranks, "ranks", 8, "ranks per node")
	policies := f.String("policies", strings.Join(all, ","), "`list` of cache policies, with hcmab")
	nodes := f.String("nodes", "8,16,32,64", "`list` of numbers of nodes")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.ranks < 1 {
		return s, errors.New("-ranks is at least 1")
	}
	s.policies = strings.Split(*policies, ",")
	for _, p := range s.policies {
		if !slices.Contains(all, p) {
			return s, fmt.Errorf("-policies %q: %q is none of %v", *policies, p, all)
		}
	}
	if !slices.Contains(s.policies, usual) {
		return s, fmt.Errorf("-policies %q: without %s nothing can be compared", *policies, usual)
	}
	var err error
	if s.nodes, err = results.Numbers("nodes", *nodes, 1); err != nil {
		return s, err
	}
	return s, nil
}

// preamble describes the measurements and the machine, with the command to repeat them.
func preamble(page *strings.Builder, s settings) {
	page.WriteString(s.Head("PMI exchanges, measured", "build", "native"))
	fmt.Fprintf(page, `%s. %s, %s. Figures 3.3 and 3.4 of [Sridhar]: every
rank puts one value, enters the fence, and gets its two neighbours' values or
everyone's. The client (native/programs/pmiclient.c, plain PMI-1 over a socket) times its
own steps; a figure is the time from the first rank's begin to the last rank's end
of a step, in milliseconds, the median of %d alternating runs, of which each has %d
rounds of the first exchange or %d of the second. Ratios are medians over the
pairs of rounds. (In the second exchange the policies other than %s run once.)
The floor is a server in C for each node that answers every get
from one constant and passes a byte for a barrier (native/programs/pmifloor.c), with the same
clients. Nodes are namespaces with an sshd each, on this machine, whose processor
bounds everything here: nobody can be faster than the floor, so "Hydra / floor" is
as far ahead of Hydra as anybody can be. golaunch's messages cross the nodes' sshd,
Hydra's a connection of its own. In the second exchange ranks that leave the fence
first take the processor from those that are still in it: the first exchange tells
more of the fence.
`, results.Today(), results.Machine(), hydraVersion(), s.Runs, patterns[0].rounds, patterns[1].rounds, usual)
}

func hydraVersion() string {
	out, _ := exec.Command("mpiexec.hydra", "--version").Output()
	for line := range strings.Lines(string(out)) {
		if _, v, ok := strings.Cut(line, "Version:"); ok {
			return "Hydra " + strings.TrimSpace(v)
		}
	}
	return "Hydra of unknown version"
}
