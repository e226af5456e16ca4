// Package torture drives golaunch's output as hard as it can on a test cluster of this
// machine: floods with random write sizes, checked at the far end, a line of 64 MB, a
// reader that has stopped. It writes the outcomes, and the memory of golaunch's
// processes, as docs/results/torture.md.
package torture

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// memoryLimit bounds the memory of golaunch and of each agent, in MiB.
const memoryLimit = 64

// sizes are the amounts of output.
type sizes struct {
	nodes, ranks int
	flood        int // bytes of each rank
	line         int // bytes of the long line
	stall        int // bytes of each rank before a stopped reader
	pause        time.Duration
}

// Run runs the jobs and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	var s sizes
	f.IntVar(&s.nodes, "nodes", 16, "nodes")
	f.IntVar(&s.ranks, "ranks", 64, "ranks")
	f.IntVar(&s.flood, "flood", 100e6, "bytes that each rank prints")
	f.IntVar(&s.line, "line", 64e6, "bytes of one line")
	f.IntVar(&s.stall, "stall", 10e6, "bytes of each rank before a stopped reader")
	f.DurationVar(&s.pause, "pause", 30*time.Second, "how long the reader has stopped")
	if err := f.Parse(); err != nil {
		return err
	}
	bin, err := results.Built("golaunch")
	if err != nil {
		return err
	}
	page := &strings.Builder{}
	page.WriteString(f.Head("Output under torture", "build", "native"))
	fmt.Fprintf(page, `%s. %d ranks on %d nodes (namespaces with an sshd each, on one machine) in a tree of
degree 4. Memory is the highest resident size of any process of its kind, in MiB;
%d are allowed. Every byte is checked at the far end: each rank's last line says how
many lines it wrote and their checksum.

| job | came | took | golaunch | highest agent | highest warden |
|---|---|---|---|---|---|
`, results.Today(), s.ranks, s.nodes, memoryLimit)
	err = torture(ctx, s, filepath.Join(bin, "golaunch"), filepath.Join(bin, "native"), bin, func(name string, o outcome) {
		fmt.Fprintf(page, "| %s | %.1f MB | %.1f s | %.0f | %.0f | %.0f |\n", name, float64(o.bytes)/1e6, o.took.Seconds(), o.peaks["golaunch"], o.peaks["agent"], o.peaks["warden"])
	})
	return f.Conclude(ctx, page.String(), err)
}

// torture makes a cluster below dir, which its nodes see, and runs every job.
func torture(ctx context.Context, s sizes, golaunch, native, dir string, tell func(name string, o outcome)) error {
	config := cluster.Config{Nodes: s.nodes, Share: []string{filepath.Dir(golaunch), native}}
	return cluster.With(ctx, dir, config, func(c *cluster.Cluster, dir string) error {
		p := place{cluster: c, golaunch: golaunch, native: native, dir: dir, ranks: s.ranks}
		return p.all(ctx, s, tell)
	})
}

func (p place) all(ctx context.Context, s sizes, tell func(name string, o outcome)) error {
	for _, job := range []struct {
		name string
		run  func() (outcome, error)
	}{
		{fmt.Sprintf("%d × %d MB of lines", s.ranks, s.flood/1e6), func() (outcome, error) { return p.flood(ctx, s.flood) }},
		{fmt.Sprintf("one line of %d MB", s.line/1e6), func() (outcome, error) { return p.longLine(ctx, s.line) }},
		{fmt.Sprintf("%d × %d MB, nobody reads for %v, 20 fences meanwhile", s.ranks, s.stall/1e6, s.pause), func() (outcome, error) { return p.stall(ctx, s.stall, s.pause) }},
		{"SIGTERM while nobody reads", func() (outcome, error) { return p.killStalled(ctx) }},
	} {
		o, err := job.run()
		if err != nil {
			return fmt.Errorf("%s: %w", job.name, err)
		}
		tell(job.name, o)
		for kind, mib := range o.peaks {
			if mib > memoryLimit {
				return fmt.Errorf("%s: %s took %.0f MiB", job.name, kind, mib)
			}
		}
	}
	return nil
}
