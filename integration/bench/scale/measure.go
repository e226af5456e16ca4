package scale

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// toMeasure are the sizes that are measured, and whether the costs are fitted
// to them: fewer than half, and none of the largest.
var toMeasure = []point{
	{Nodes: 1, Ranks: 1, Fit: true}, {Nodes: 1, Ranks: 16, Fit: true},
	{Nodes: 8, Ranks: 1}, {Nodes: 8, Ranks: 16},
	{Nodes: 32, Ranks: 1, Fit: true}, {Nodes: 32, Ranks: 16, Fit: true},
	{Nodes: 64, Ranks: 1}, {Nodes: 64, Ranks: 16},
	{Nodes: 128, Ranks: 1}, {Nodes: 128, Ranks: 16},
}

// disturbed is the others' part of the machine from which on a run does not count, as
// long as there are enough that do.
const (
	disturbed = 0.05
	enough    = 3
)

// effort bounds the measurements: rounds of all sizes until the time is over, but so
// many at least, and nodes up to most.
type effort struct {
	runs, most int
	time       time.Duration
}

// measure runs golaunch on a test cluster, in all sizes in turn, so that changes over
// time hit all of them.
func measure(ctx context.Context, e effort) (*measured, error) {
	if err := results.Root(); err != nil {
		return nil, err
	}
	bin, err := filepath.Abs("bin/golaunch")
	if err != nil {
		return nil, err
	}
	m := &measured{Date: results.Today(), Machine: machine(), Cores: runtime.NumCPU(), Costs: usual}
	for _, p := range toMeasure {
		if p.Nodes <= e.most {
			m.Points = append(m.Points, p)
		}
	}
	readings := make([][]reading, len(m.Points))
	err = cluster.With(ctx, "", cluster.Config{Nodes: e.most}, func(c *cluster.Cluster, dir string) error {
		for _, p := range m.Points { // it brings all into memory
			if _, err := once(ctx, c, bin, p); err != nil {
				return err
			}
		}
		if m.Counted, err = countAll(ctx, c, bin, dir, min(countNodes, e.most)); err != nil {
			return err
		}
		begin := time.Now()
		for round := 1; round <= e.runs || time.Since(begin) < e.time; round++ {
			for i, p := range m.Points {
				r, err := once(ctx, c, bin, p)
				if err != nil {
					return err
				}
				readings[i] = append(readings[i], r)
				fmt.Fprintf(os.Stderr, "%d: %d × %d: up %.0f ms, whole %.0f ms, processors %.0f ms, others %.0f %%\n", round, p.Nodes, p.Ranks, r.Up, r.Wall, r.CPU, 100*r.Others)
			}
		}
		return nil
	})
	for i := range m.Points {
		m.Points[i].take(readings[i])
	}
	return m, err
}

// take fills a point with the medians of its readings: of those that nothing
// disturbed, or of the least disturbed where these are too few.
func (p *point) take(all []reading) {
	all = slices.SortedStableFunc(slices.Values(all), func(x, y reading) int { return cmp.Compare(x.Others, y.Others) })
	count := len(all)
	for count > enough && all[count-1].Others > disturbed {
		count--
	}
	all = all[:count]
	column := func(of func(reading) float64) (values []float64) {
		for _, r := range all {
			values = append(values, of(r))
		}
		return values
	}
	p.reading = reading{
		Connect: results.Median(column(func(r reading) float64 { return r.Connect })),
		Up:      results.Median(column(func(r reading) float64 { return r.Up })),
		Started: results.Median(column(func(r reading) float64 { return r.Started })),
		Wall:    results.Median(column(func(r reading) float64 { return r.Wall })),
		CPU:     results.Median(column(func(r reading) float64 { return r.CPU })),
		Others:  results.Median(column(func(r reading) float64 { return r.Others })),
	}
	p.Readings = count
	p.Spread = spread(column(func(r reading) float64 { return r.Wall }))
}

// spread returns half the width of the middle half of values, as a part of their
// median.
func spread(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(3*n-1)/4] - values[n/4]) / 2 / results.Median(values)
}

// golaunchOn returns golaunch on a cluster, at the size of p.
func golaunchOn(ctx context.Context, c *cluster.Cluster, bin string, p point, more ...string) *cluster.Cmd {
	argv := []string{bin, "-f", c.HostFile(), "--ssh-config", c.SSHConfig(), "-n", strconv.Itoa(p.Nodes * p.Ranks), "-N", strconv.Itoa(p.Ranks)}
	return c.CommandContext(ctx, cluster.Head, append(argv, more...)...)
}

// once runs golaunch once, by its own clock, on a machine where nothing else goes on if
// that can be had.
func once(ctx context.Context, c *cluster.Cluster, bin string, p point) (r reading, err error) {
	if err := awaitIdle(ctx); err != nil {
		return r, err
	}
	before, err := sampleOf(c)
	if err != nil {
		return r, err
	}
	out, err := golaunchOn(ctx, c, bin, p, "--timing", "/bin/true").CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("%d × %d: %w: %s", p.Nodes, p.Ranks, err, bytes.TrimSpace(out))
	}
	after, err := settled(ctx, c) // its remains would be those of the next run
	if err != nil {
		return r, err
	}
	r.CPU = ms(after.cluster - before.cluster)
	r.Others = before.others(after)
	for name, value := range map[string]*float64{"connect": &r.Connect, "agents up": &r.Up, "ranks started": &r.Started, "tree down": &r.Wall} {
		if *value, err = since(string(out), name); err != nil {
			return r, err
		}
	}
	return r, nil
}

// since returns the end of a phase, by the table of --timing: milliseconds since
// golaunch began.
func since(table, phase string) (float64, error) {
	for line := range strings.Lines(table) {
		rest, ok := strings.CutPrefix(line, "golaunch: "+phase)
		if f := strings.Fields(rest); ok && len(f) == 2 {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, fmt.Errorf("--timing says nothing of %q:\n%s", phase, table)
}
