// Package uplink measures the traffic over the links between two leaf switches of a
// test cluster, and its time, with and without a network named to golaunch: operations
// of the tree (docs/results/tree-uplink.md), and a stencil program of MPICH whose ranks
// golaunch maps by their communication graph (docs/results/stencil.md).
package uplink

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// rankWord is the first argument of this program as a rank.
const rankWord = "rank"

// The cluster: two leaf switches with four hosts each.
var shape = cluster.Config{Nodes: 8, Switches: cluster.Switches{Count: 2, Hosts: 4}, Uplink: 100e6, Edge: 1e9}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	if len(f.Words()) > 0 && f.Words()[0] == rankWord {
		return rank(ctx)
	}
	f.Runs, f.Out = 5, "docs/results/tree-uplink.md"
	rounds := f.Int("rounds", 10, "exchanges of the stencil that are timed in each run")
	if err := f.Parse(); err != nil {
		return err
	}
	if *rounds < 1 {
		return errors.New("-rounds is at least 1")
	}
	built, err := programs.Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	b := &bench{built: built, rounds: *rounds}
	if b.program, err = os.Executable(); err != nil {
		return err
	}
	config := shape
	config.Share = []string{built, b.program}
	var tree, stencil []reading
	err = cluster.With(ctx, built, config, func(c *cluster.Cluster, dir string) error {
		b.cluster, b.dir = c, dir
		for range f.Runs {
			more, err := b.tree(ctx)
			if err != nil {
				return err
			}
			tree = append(tree, more...)
			if more, err = b.stencil(ctx); err != nil {
				return err
			}
			stencil = append(stencil, more...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.Write(treePage(f.Frame, tree)); err != nil {
		return err
	}
	return results.Write(f.Beside("stencil.md"), stencilPage(f.Frame, *rounds, stencil))
}

// bench has the cluster and the programs of jobs.
type bench struct {
	cluster        *cluster.Cluster
	dir            string // that the nodes see
	built, program string // the folder of programs; this one
	rounds         int    // of the stencil
}

// reading is the measurement of one thing in one run.
type reading struct {
	name    string
	bytes   float64 // from the leaf switches to the core
	seconds float64 // on the slowest rank
}

// median returns that of a value of the readings of one thing, 0 if there are none.
func median(all []reading, name string, value func(reading) float64) float64 {
	var values []float64
	for _, r := range all {
		if r.name == name {
			values = append(values, value(r))
		}
	}
	return results.Median(values)
}

// change renders the relative difference of two numbers.
func change(from, to float64) string { return fmt.Sprintf("%+.0f %%", 100*(to/from-1)) }
