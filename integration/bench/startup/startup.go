// Package startup measures golaunch's times to start jobs, beside its rivals and beside
// the floor, on test clusters of this machine, and writes docs/results/startup.md with
// its pictures; with -provider docker on containers, and
// docs/results/startup-docker.md; with -provider slurm in allocations, and
// docs/results/startup-slurm.md.
//
// Contenders run in turn; a table quotes the median of each, and ratios are
// medians over the pairs of runs. A contender that cannot run, or fails, is
// left out with its reason, and the page is written again after every contest.
// Nothing else should run on the machine.
package startup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// The parts of the benchmark, in the order in which they are run.
const (
	partLocal   = "local"   // one machine
	partNodes   = "nodes"   // numbers of nodes
	partRanks   = "ranks"   // ranks per node
	partKex     = "kex"     // key exchanges of ssh
	partPMI     = "pmi"     // PMI clients
	partPhases  = "phases"  // golaunch's phases and messages
	partMemory  = "memory"  // golaunch's memory and descriptors
	partTable   = "table"   // table 2.1 of [Sridhar]
	partFigures = "figures" // figures 2.4 and 2.5 of [Sridhar]
	partHard    = "hard"    // slow, dead and refusing hosts
	partExec    = "exec"    // containers without ssh; of -provider docker
	partSlurm   = "slurm"   // allocations; of -provider slurm
)

var parts = []string{partLocal, partNodes, partRanks, partKex, partPMI, partPhases, partMemory, partTable, partFigures, partHard}

// presets are the default measurements, by provider.
var presets = map[string]struct {
	name         string // of the page
	parts        []string
	nodes, ranks string
}{
	cluster.Netns:  {"startup", parts, "1,8,32,64,128,256", "4,16,64"},
	cluster.Docker: {"startup-docker", []string{partNodes, partRanks, partExec}, "1,2,4,8,16", "4,16"},
	allocated:      {"startup-slurm", []string{partSlurm}, "64", "1,16"},
}

// settings choose the measurements.
type settings struct {
	results.Frame
	budget   time.Duration // of one contest, after which no round begins
	limit    time.Duration // of one run
	parts    []string
	nodes    []int
	ranks    []int // per node
	local    []int // ranks on this machine alone
	hardRuns int
	provider string // of the cluster
	name     string // of the page, which the pictures' names begin with
	bin      string
	self     string // this program, which the cluster's nodes must see
	begun    time.Time
}

// Run measures starts and writes their page.
func Run(ctx context.Context, f *results.Flags) error {
	if words := f.Words(); len(words) > 0 {
		switch words[0] {
		case floorWord:
			return floor(words[1:])
		case timedWord:
			return timed(words[1:])
		}
	}
	s, err := parse(f)
	if err != nil {
		return err
	}
	if err := results.Root(); err != nil {
		return err
	}
	if s.bin, err = results.Built("golaunch", "native/floor"); err != nil {
		return err
	}
	b, err := newBench(s)
	if err != nil {
		return err
	}
	if err := b.all(ctx); err != nil {
		return results.Left(b.final, err)
	}
	if err := b.finish(); err != nil {
		return err
	}
	return b.book.failed()
}

func parse(f *results.Flags) (settings, error) {
	s := settings{begun: time.Now()}
	f.Runs = 3
	f.DurationVar(&s.budget, "budget", time.Minute, "begin no further round of a contest after this time")
	f.DurationVar(&s.limit, "limit", time.Minute, "a run that takes longer counts as failed")
	f.IntVar(&s.hardRuns, "hardruns", 100, "starts over sshds that refuse connections")
	f.StringVar(&s.provider, "provider", cluster.Netns, "the kind of nodes: netns (namespaces), docker (containers) or slurm (namespaces in an allocation)")
	chosen := f.String("parts", "", "`LIST` of what to measure; all of it unless said")
	nodes := f.String("nodes", "", "`LIST` of numbers of nodes; "+presets[cluster.Netns].nodes+", or of containers "+presets[cluster.Docker].nodes+" unless said")
	ranks := f.String("ranks", "", "`LIST` of ranks per node, on 64 nodes at most; "+presets[cluster.Netns].ranks+", in containers "+presets[cluster.Docker].ranks+" unless said")
	local := f.String("local", "512,1024,2048,4096,8192", "`LIST` of ranks on this machine alone")
	quick := f.Bool("quick", false, "everything in small: 8 nodes, 1024 local ranks, one run")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if *quick {
		*nodes, *ranks, *local, s.Runs, s.hardRuns = "1,4,8", "4,16", "512,1024", 1, 3
	}
	if s.Out == "-" { // standard output, which has no pictures beside it
		s.Out = ""
	}
	if s.hardRuns < 1 {
		return s, errors.New("-hardruns must be positive")
	}
	preset, known := presets[s.provider]
	if !known {
		return s, fmt.Errorf("-provider %q: want %s, %s or %s", s.provider, cluster.Netns, cluster.Docker, allocated)
	}
	s.name, s.parts = preset.name, preset.parts
	*nodes, *ranks = cmp.Or(*nodes, preset.nodes), cmp.Or(*ranks, preset.ranks)
	var err error
	for _, list := range []struct {
		flag, value string
		to          *[]int
	}{{"nodes", *nodes, &s.nodes}, {"ranks", *ranks, &s.ranks}, {"local", *local, &s.local}} {
		if *list.to, err = results.Numbers(list.flag, list.value, 1); err != nil {
			return s, err
		}
		slices.Sort(*list.to)
	}
	if *chosen != "" {
		s.parts = strings.Split(*chosen, ",")
	}
	for _, p := range s.parts {
		if !slices.Contains(preset.parts, p) {
			return s, fmt.Errorf("-parts %q: %q is none of %v", *chosen, p, preset.parts)
		}
	}
	s.self, err = os.Executable()
	return s, err
}

// most returns the largest number of nodes up to a limit that is measured.
func (s settings) most(limit int) int {
	largest := s.nodes[0]
	for _, n := range s.nodes {
		if n <= limit {
			largest = n
		}
	}
	return largest
}

// wants reports whether one of the parts is to be measured.
func (s settings) wants(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(s.parts, p) })
}
