// Command uplink measures what goes over the links between two leaf switches of a
// test cluster, and how long it takes, with and without a network named to golaunch:
// operations of the tree (docs/results/tree-uplink.md), and a stencil program of MPICH
// whose ranks golaunch maps by their communication graph (docs/results/stencil.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// rankWord is the first argument of this program as a rank.
const rankWord = "rank"

// The cluster: two leaf switches with four hosts each.
var shape = cluster.Config{Nodes: 8, Switches: cluster.Switches{Count: 2, Hosts: 4}, Uplink: 100e6, Edge: 1e9}

func main() {
	if len(os.Args) > 1 && os.Args[1] == rankWord {
		if err := rank(); err != nil {
			fmt.Fprintln(os.Stderr, "uplinkbench:", err)
			os.Exit(1)
		}
		return
	}
	results.Main("uplinkbench", run)
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("uplinkbench", flag.ContinueOnError)
	runs := f.Int("runs", 5, "runs of each job with and without the network, in turn")
	rounds := f.Int("rounds", 10, "exchanges of the stencil that are timed in each run")
	out := f.String("o", "docs/results", "`folder` to write the pages to")
	if err := results.Parse(f, args); err != nil {
		return err
	}
	if *runs < 1 || *rounds < 1 {
		return errors.New("-runs and -rounds are at least 1")
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
		for range *runs {
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
	command := fmt.Sprintf("go run ./integration/bench/uplink -runs %d -rounds %d", *runs, *rounds)
	if err := results.Write(filepath.Join(*out, "tree-uplink.md"), treePage(command, *runs, tree)); err != nil {
		return err
	}
	return results.Write(filepath.Join(*out, "stencil.md"), stencilPage(command, *runs, *rounds, stencil))
}

// bench is what jobs are run with.
type bench struct {
	cluster        *cluster.Cluster
	dir            string // that the nodes see
	built, program string // the folder of programs; this one
	rounds         int    // of the stencil
}

// reading is what was measured of one thing in one run.
type reading struct {
	what    string
	bytes   float64 // from the leaf switches to the core
	seconds float64 // on the slowest rank
}

// median is that of a value of the readings of one thing, 0 if there are none.
func median(all []reading, what string, value func(reading) float64) float64 {
	var values []float64
	for _, r := range all {
		if r.what == what {
			values = append(values, value(r))
		}
	}
	return results.Median(values)
}

// change is by how much something is more or less.
func change(from, to float64) string { return fmt.Sprintf("%+.0f %%", 100*(to/from-1)) }
