// Command pmi measures the exchange of figures 3.3 and 3.4 of
// [Sridhar] on test clusters of this machine: every rank puts one value, enters
// the fence, and gets two values or everyone's. It holds every cache policy
// beside Hydra and beside the floor, a server in C that answers from a constant
// (native/programs/pmifloor.c), and writes docs/results/pmi.md.
//
// The clients time their own steps, so that launching is not in the figures.
// Contenders run in turn; a table quotes medians, and ratios are medians over
// the pairs of runs. Nothing else should run on the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings say what is measured.
type settings struct {
	runs     int
	out      string
	nodes    []int
	ranks    int // per node
	policies []string
	shared   bool
	bin      string
	args     []string
}

func main() { results.Main("pmibench", run) }

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return errors.New("not root: the clusters of namespaces need it")
	}
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		return errors.New("no mpiexec.hydra to compare with: apt-get install mpich")
	}
	if _, err := os.Stat(filepath.Join(s.bin, "native", "pmifloor")); err != nil {
		return errors.New("bin/native/pmifloor is missing: run make build native")
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
	return results.Write(s.out, page.String())
}

func parse(args []string) (settings, error) {
	s := settings{args: args}
	var all []string
	for _, p := range cache.Policies() {
		all = append(all, string(p))
	}
	f := flag.NewFlagSet("pmibench", flag.ContinueOnError)
	f.IntVar(&s.runs, "runs", 3, "how often each is run")
	f.IntVar(&s.ranks, "ranks", 8, "ranks per node")
	f.StringVar(&s.out, "o", "", "write to `file`, and pictures to plots/ beside it; else to standard output, without")
	f.BoolVar(&s.shared, "shared", false, "say that other programs ran at the same time")
	policies := f.String("policies", strings.Join(all, ","), "`list` of cache policies, with hcmab")
	nodes := f.String("nodes", "8,16,32,64", "`list` of numbers of nodes")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 || s.runs < 1 || s.ranks < 1 {
		return s, errors.New("usage: pmibench [flags]; runs and ranks at least 1")
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
	s.bin, err = filepath.Abs("bin")
	return s, err
}

// preamble says what was measured, on what, and how to do it again.
func preamble(page *strings.Builder, s settings) {
	fmt.Fprintf(page, `# PMI exchanges, measured

	make build native && go run ./integration/bench/pmi %s

%s. %d cores, Linux %s, %s. Figures 3.3 and 3.4 of [Sridhar]: every
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
`, strings.Join(s.args, " "), time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), results.Kernel(), hydraVersion(), s.runs, patterns[0].rounds, patterns[1].rounds, usual)
	if s.shared {
		fmt.Fprint(page, `
**Other programs used the machine during this run: ratios count, and are rough.**
`)
	}
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
