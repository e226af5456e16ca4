// Package profile measures the cost of --profile: nanoseconds of each call, a latency
// loop between two nodes of a test cluster, and the memory of the counters; and writes
// docs/results/profile.md.
package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
)

// settings choose the measurements.
type settings struct {
	pairs, calls, trips int
	ranks               []int
	results.Frame
}

func parse(f *results.Flags) (s settings, err error) {
	f.IntVar(&s.pairs, "pairs", 10, "runs without and with a profile, in turn")
	f.IntVar(&s.calls, "calls", 10_000_000, "calls of a run")
	f.IntVar(&s.trips, "trips", 50, "round trips of a batch of the latency loop, of which a run has 200")
	ranks := f.String("ranks", "64,128,256", "`LIST` of numbers of ranks of which the memory is measured")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if s.pairs < 1 || s.calls < 10 || s.trips < 1 {
		return s, errors.New("-pairs and -trips are at least 1, -calls at least 10")
	}
	s.ranks, err = results.Numbers("ranks", *ranks, 2)
	return s, err
}

// trial is one thing that is measured without and with a profile.
type trial struct {
	library string // MPI's
	suffix  string // of the program
	word    string // its first word
	threads bool
	time    bool // --profile-what time
}

var libraries = []trial{{library: "MPICH"}, {library: "Open MPI", suffix: ".openmpi"}}

// trials returns all: volume alone, with threads, with time; and the latency loop.
func trials() (all []trial) {
	for _, l := range libraries {
		for _, t := range []trial{{word: "calls"}, {word: "calls", threads: true}, {word: "calls", time: true}, {word: "latency"}} {
			t.library, t.suffix = l.library, l.suffix
			all = append(all, t)
		}
	}
	return all
}

// reading has the times of a trial, nanoseconds of each run.
type reading struct{ plain, profiled []float64 }

// memory is that of the counters of so many ranks, in bytes.
type memory struct {
	ranks int
	bytes float64
}

type bench struct {
	settings
	cluster *cluster.Cluster
	built   string
}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	readings := map[trial]reading{}
	var sizes []memory
	err = programs.OnCluster(ctx, 2, func(c *cluster.Cluster, built string) error {
		b := &bench{s, c, built}
		for _, t := range trials() {
			if readings[t], err = b.pairsOf(ctx, t); err != nil {
				return err
			}
		}
		for _, n := range s.ranks {
			bytes, err := b.job(ctx, "-H", "n001:"+strconv.Itoa(n), "-n", strconv.Itoa(n),
				"--profile", "/tmp/profile.json", filepath.Join(built, "profilebench"), "memory", "10")
			if err != nil {
				return err
			}
			sizes = append(sizes, memory{n, bytes})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Write(page(s, readings, sizes))
}

// pairsOf runs a trial without and with a profile in turn.
func (b *bench) pairsOf(ctx context.Context, t trial) (r reading, err error) {
	hosts, ranks, n := "n001:1", "1", b.calls
	switch {
	case t.word == "latency":
		hosts, ranks, n = "n001:1,n002:1", "2", b.trips
	case t.threads || t.time:
		n /= 10
	}
	words := []string{filepath.Join(b.built, "profilebench"+t.suffix), t.word, strconv.Itoa(n)}
	if t.threads {
		words = append(words, "threads")
	}
	profile := []string{"--profile", "/tmp/profile.json"}
	if t.time {
		profile = append(profile, "--profile-what", "time")
	}
	for range b.pairs {
		flags := []string{"-H", hosts, "-n", ranks, // the nodes are namespaces of one machine
			"-x", "UCX_TLS=tcp,self", "-x", "OMPI_MCA_pml=ob1", "-x", "OMPI_MCA_btl=tcp,self"}
		plain, err := b.job(ctx, append(flags, words...)...)
		if err != nil {
			return r, err
		}
		profiled, err := b.job(ctx, append(append(flags, profile...), words...)...)
		if err != nil {
			return r, err
		}
		r.plain, r.profiled = append(r.plain, plain), append(r.profiled, profiled)
		fmt.Fprintf(os.Stderr, "%s, %v: %.1f ns, with a profile %.1f ns\n", t.library, t, plain, profiled)
	}
	return r, nil
}

// job runs golaunch on the head of the cluster; its program prints a number.
func (b *bench) job(ctx context.Context, args ...string) (float64, error) {
	args = append([]string{filepath.Join(b.built, "golaunch"), "--ssh-config", b.cluster.SSHConfig()}, args...)
	cmd := b.cluster.CommandContext(ctx, cluster.Head, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%v: %w: %s", args, err, stderr.String())
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
