// Package launcherload measures the usage of golaunch itself while it starts jobs on
// thousands of nodes: descriptors, memory and processor time, against the bounds of
// docs/results/launcher.md, which it writes. golaunch is the real one, in a process of
// its own. So are the agents, hundreds to a process, with links in memory between them
// (package internal/link/memlink); the processes of a node, its warden and ranks, are
// stood in for, with the descriptors that an agent has of them. With -calls the agents
// are started in bulk instead, and call golaunch over TLS:
// docs/results/launcher-bulk.md.
package launcherload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/bootstrap"
)

// settings choose the measurements.
type settings struct {
	nodes, ppn []int
	degree     int
	golaunch   string // "" to build it
	calls      bool   // agents call golaunch
	results.Frame
}

// Branch runs the agents of a process that golaunch or a root of this bench started
// with the words.
func Branch(words []string) error {
	return serve(words, agent.Harness{Piper: func() bootstrap.Piper { return &branch }, Warden: fakeWarden})
}

func parse(f *results.Flags) (settings, error) {
	s := settings{}
	f.Runs = 5
	nodes := f.String("nodes", "64,512,1024,2048,4096", "numbers of nodes")
	ppn := f.String("ppn", "1,8", "numbers of ranks per node")
	f.IntVar(&s.degree, "degree", 16, "degree of the tree; below each child of the root is one process")
	f.StringVar(&s.golaunch, "golaunch", "", "measure this `FILE`; else it is built")
	f.BoolVar(&s.calls, "calls", false, "agents are started in bulk, and call golaunch over TLS")
	err := f.Parse()
	if err == nil {
		s.nodes, err = results.Numbers("nodes", *nodes, 2)
	}
	if err == nil {
		s.ppn, err = results.Numbers("ppn", *ppn, 1)
	}
	if err == nil && s.degree < 1 {
		err = errors.New("-degree is at least 1")
	}
	s.Frame = f.Frame
	return s, err
}

// Run measures the launcher and writes its page.
func Run(ctx context.Context, f *results.Flags) error {
	if words := f.Words(); len(words) > 0 {
		switch words[0] {
		case rootWord:
			return serveRoot(words)
		case srunWord:
			return serveCalling(words)
		}
	}
	s, err := parse(f)
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
			for range s.Runs {
				l, err := job(ctx, s.golaunch, n, ppn, s.degree)
				if err != nil {
					return fmt.Errorf("%d nodes, %d ranks each: %w", n, ppn, err)
				}
				loads = append(loads, l)
			}
			all = append(all, median(loads))
		}
	}
	return s.Write(render(s, all))
}
