package uplink

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// The job: an open grid of ranks on hosts that are listed out of order.
const (
	grid         = "2x4x4"
	ranks        = 32
	face         = 256 << 10 // bytes
	stencilHosts = "n001:8,n005:8,n006:8,n002:8"
)

// way is a way to place the ranks.
type way struct {
	name string
	more []string // flags; nil for the default order
}

var ways = []way{
	{"default order", nil},
	{"mapped by the graph", []string{"--map-by", "comm:cart:" + grid}},
	{"mapped by a recorded profile", []string{"--map-by", "comm:" + profileWord}},
}

// profileWord stands for the file that a run of the program in the default order left.
const profileWord = "PROFILE"

// flags returns those of a way if a file names the places of the nodes.
func (w way) flags(names string) []string {
	if w.more == nil {
		return nil
	}
	return append([]string{"--topology", "fattree:4,2/1,1/1,1", "--map", names}, w.more...)
}

// stencil runs the stencil program once in each way.
func (b *bench) stencil(ctx context.Context) (all []reading, err error) {
	names, err := mapFile(b.dir)
	if err != nil {
		return nil, err
	}
	program := append([]string{filepath.Join(b.built, "mpistencil")}, strings.Split(grid, "x")...)
	program = append(program, strconv.Itoa(face), strconv.Itoa(b.rounds))
	job := []string{"-H", stencilHosts, "-n", strconv.Itoa(ranks)}
	profile := filepath.Join(b.dir, "profile.json")
	if _, err := os.Stat(profile); err != nil {
		if _, err := b.job(ctx, 1, slices.Concat(job, []string{"--profile", profile}, program)...); err != nil {
			return nil, fmt.Errorf("stencil, profiled: %w", err)
		}
	}
	for _, w := range ways {
		args := slices.Clone(job)
		for _, flag := range w.flags(names) {
			args = append(args, strings.Replace(flag, profileWord, profile, 1))
		}
		one, err := b.job(ctx, 1, append(args, program...)...)
		if err != nil {
			return nil, fmt.Errorf("stencil, %s: %w", w.name, err)
		}
		one[0].name = w.name
		all = append(all, one...)
	}
	return all, nil
}

// mapFile writes a file with the host of the network that each node is.
func mapFile(dir string) (string, error) {
	var b strings.Builder
	for i := range shape.Nodes {
		fmt.Fprintf(&b, "%s h%d\n", cluster.NodeName(i+1), i)
	}
	file := filepath.Join(dir, "map")
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}

// stencilPage renders the results.
func stencilPage(f results.Frame, rounds int, all []reading) string {
	var b strings.Builder
	b.WriteString(f.Head("A stencil program on two switches", "build", "native"))
	fmt.Fprintf(&b, `%s. A test cluster of this machine: %d leaf switches with %d nodes each, 1 Gbit/s to a
node, 100 Mbit/s between switch and core. The hosts are listed as n001, n005, n006, n002,
8 ranks each: n005 and n006 are on the other switch. %d ranks of an MPICH program
(`+"`native/programs/mpistencil.c`"+`) exchange faces of %d KiB with their neighbors in an open grid of
%s. One round comes before the %d that are timed. PROFILE is what one run in the default
order left with `+"`--profile PROFILE`"+`: the map knows nothing but that. Bytes are those from
the switches to the core, by their counters, while the rounds are timed; time is that of
the slowest rank. Medians of %d runs, one of each way in turn.

| ranks | flags | MB on the uplink | beside the default | seconds | beside the default |
|---|---|---|---|---|---|
`, results.Today(), shape.Switches.Count, shape.Switches.Hosts, ranks, face>>10, grid, rounds, f.Runs)
	mb := func(w way) float64 { return median(all, w.name, func(r reading) float64 { return r.bytes / 1e6 }) }
	seconds := func(w way) float64 { return median(all, w.name, func(r reading) float64 { return r.seconds }) }
	for _, w := range ways {
		flags := "none"
		if w.more != nil {
			flags = "`" + strings.Join(w.flags("FILE"), " ") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %.1f | %s | %.3f | %s |\n", w.name, flags,
			mb(w), change(mb(ways[0]), mb(w)), seconds(w), change(seconds(ways[0]), seconds(w)))
	}
	return b.String()
}
