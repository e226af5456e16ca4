// Command launcherload measures what golaunch itself takes while it starts jobs
// on thousands of nodes: descriptors, memory and processor time, against the
// bounds of docs/results/launcher.md, which it writes. golaunch is the real one,
// in a process of its own. So are the agents, hundreds to a process, with links
// in memory between them (package internal/link/memlink); the processes of a node, its
// warden and ranks, are stood in for, with the descriptors that an agent has of
// them. With -calls the agents are started in bulk instead, and call golaunch over
// TLS: docs/results/launcher-bulk.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/overlay"
)

// settings say what is measured.
type settings struct {
	nodes, ppn   []int
	degree, runs int
	golaunch     string // "" to build it
	out          string
	shared       bool
	calls        bool     // agents call golaunch
	rest         []string // the command line
}

func main() {
	words := os.Args[1:]
	switch {
	case filepath.Base(os.Args[0]) == srunName:
		ended(serveCalling(words))
	case len(words) > 0 && words[0] == rootWord:
		ended(serveRoot(words))
	case overlay.IsAgent(words):
		ended(serveBranch(words))
	default:
		results.Main("launcherload", run)
	}
}

// ended ends a process of agents.
func ended(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "launcherload:", err)
		os.Exit(1)
	}
}

func parse(args []string) (settings, error) {
	s := settings{rest: args}
	f := flag.NewFlagSet("launcherload", flag.ContinueOnError)
	nodes := f.String("nodes", "64,512,1024,2048,4096", "numbers of nodes")
	ppn := f.String("ppn", "1,8", "numbers of ranks per node")
	f.IntVar(&s.degree, "degree", 16, "degree of the tree; below each child of the root is one process")
	f.IntVar(&s.runs, "runs", 5, "times each; medians count")
	f.StringVar(&s.golaunch, "golaunch", "", "measure this `FILE`; else it is built")
	f.BoolVar(&s.calls, "calls", false, "agents are started in bulk, and call golaunch over TLS")
	f.BoolVar(&s.shared, "shared", false, "say that other programs ran at the same time")
	f.StringVar(&s.out, "o", "", "write to `FILE`; else to standard output")
	err := f.Parse(args)
	if err == nil {
		s.nodes, err = results.Numbers("nodes", *nodes, 2)
	}
	if err == nil {
		s.ppn, err = results.Numbers("ppn", *ppn, 1)
	}
	if err == nil && (f.NArg() > 0 || s.degree < 1 || s.runs < 1) {
		err = errors.New("usage: launcherload [flags]")
	}
	return s, err
}

func run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.golaunch == "" {
		built, err := programs.Make()
		if err != nil {
			return err
		}
		defer os.RemoveAll(built)
		s.golaunch = built + "/golaunch"
	}
	slices.Sort(s.nodes)
	job, render := measure, page
	if s.calls {
		job, render = measureCalls, callsPage
	}
	var all []load
	for _, ppn := range s.ppn {
		for _, n := range s.nodes {
			var loads []load
			for range s.runs {
				l, err := job(ctx, s.golaunch, n, ppn, s.degree)
				if err != nil {
					return fmt.Errorf("%d nodes, %d ranks each: %w", n, ppn, err)
				}
				loads = append(loads, l)
			}
			all = append(all, median(loads))
		}
	}
	return results.Write(s.out, render(s, all))
}
