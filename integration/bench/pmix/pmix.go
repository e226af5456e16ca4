// Package pmix measures the waits of ranks that speak PMIx: start-up to the end of
// MPI_Init of Open MPI 4 and 5, under golaunch and under the mpirun of each over the
// same ssh, and srun; and PMIx's fence and direct modex, with a small client (native/
// pmixclient.c). It writes docs/results/pmix.md.
//
// Ranks tell times of the machine's one clock, so that a launcher's end is not in the
// figures. Contenders run in turn; a table quotes medians, and ratios are medians over the
// rounds. Nothing else should run on the machine.
package pmix

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/internal/rivals"
	"github.com/golaunch/golaunch/integration/programs"
)

// settings choose the measurements.
type settings struct {
	results.Frame
	rounds  int
	limit   time.Duration
	sizes   []size // of start-up
	fences  size
	bin     string
	five    string // directory of Open MPI 5, or ""
	noSlurm error  // the reason that srun is not measured; nil if it is
}

// size is a number of nodes, and of ranks on each.
type size struct{ nodes, ranks int }

func (s size) String() string { return fmt.Sprintf("%d × %d", s.nodes, s.ranks) }

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	if err := results.Root(); err != nil {
		return err
	}
	s.bin, err = results.Built("golaunch", "native/mpihello.openmpi", "native/mpihello.openmpi5", "native/pmixclient", "native/pmixclient.openmpi5")
	if err != nil {
		return err
	}
	b := book{}
	for _, at := range s.all() {
		if err := s.onCluster(ctx, at, b); err != nil {
			return err
		}
	}
	return s.Write(page(s, b))
}

func parse(f *results.Flags) (settings, error) {
	s := settings{five: programs.OpenMPI5(), noSlurm: cluster.SlurmUnavailable()}
	f.Runs = 3
	f.IntVar(&s.rounds, "rounds", 9, "rounds of fences and gets of a run")
	f.DurationVar(&s.limit, "limit", 2*time.Minute, "how long one run may take")
	sizes := f.String("sizes", "8x4,16x4,64x1,64x16", "`list` of nodes x ranks for start-up")
	fences := f.String("fences", "64x8", "nodes x `ranks` for fences and gets")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.rounds < 1 || s.limit <= 0 {
		return s, errors.New("-rounds and -limit must be positive")
	}
	var err error
	if s.sizes, err = parseSizes("sizes", *sizes); err != nil {
		return s, err
	}
	one, err := parseSizes("fences", *fences)
	if err != nil {
		return s, err
	}
	if s.fences = one[0]; len(one) > 1 {
		return s, fmt.Errorf("-fences %q: want one size", *fences)
	}
	return s, nil
}

func parseSizes(flag, list string) ([]size, error) {
	var sizes []size
	for word := range strings.SplitSeq(list, ",") {
		nodes, ranks, _ := strings.Cut(word, "x")
		n, err := strconv.Atoi(nodes)
		r, wrong := strconv.Atoi(ranks)
		if err != nil || wrong != nil || n < 1 || r < 1 {
			return nil, fmt.Errorf("-%s %q: %q is not a size like 16x4", flag, list, word)
		}
		sizes = append(sizes, size{n, r})
	}
	return sizes, nil
}

// work has the measurements on a cluster of a size: start-up, fences or both.
type work struct {
	size
	jobs []job
}

// all returns the measurements, by the cluster that they need.
func (s settings) all() []work {
	var all []work
	for _, at := range s.sizes {
		all = append(all, work{at, startups})
	}
	return append(all, work{s.fences, exchanges})
}

func (s settings) onCluster(ctx context.Context, w work, b book) error {
	// The key exchange does not matter here, and this one is the quickest.
	config := cluster.Config{Nodes: w.nodes, Kex: cluster.KexCurve25519, Share: programs.Shared(s.bin), Slurm: s.noSlurm == nil}
	return cluster.With(ctx, "", config, func(c *cluster.Cluster, _ string) error {
		if err := rivals.GiveKeys(c); err != nil {
			return err
		}
		f := field{Cluster: c, settings: s}
		for range s.Runs {
			for _, j := range w.jobs {
				f.round(ctx, w.size, j, b)
				if err := ctx.Err(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
