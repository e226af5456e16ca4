package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/report"
)

// toMeasure are the sizes that are measured, and whether the costs are fitted
// to them.
var toMeasure = []point{
	{Nodes: 1, Ranks: 1, Fit: true}, {Nodes: 1, Ranks: 16, Fit: true},
	{Nodes: 8, Ranks: 1}, {Nodes: 8, Ranks: 16},
	{Nodes: 32, Ranks: 1, Fit: true}, {Nodes: 32, Ranks: 16, Fit: true},
	{Nodes: 64, Ranks: 1}, {Nodes: 64, Ranks: 16},
	{Nodes: 128, Ranks: 1}, {Nodes: 128, Ranks: 16},
}

// disturbed is the part of the machine from which on, used by others, a run does
// not count; triesPerRun bounds how often it is tried again.
const (
	disturbed   = 0.04
	triesPerRun = 4
)

// measure runs golaunch on a test cluster, in all sizes in turn, so that what
// changes with time hits all of them.
func measure(ctx context.Context, runs, most int) (*measured, error) {
	if os.Getuid() != 0 {
		return nil, errors.New("not root: the clusters of namespaces need it")
	}
	bin, err := filepath.Abs("bin/golaunch")
	if err != nil {
		return nil, err
	}
	m := &measured{Date: time.Now().UTC().Format("2006-01-02"), Machine: machine(), Cores: runtime.NumCPU(), Runs: runs, Costs: usual}
	for _, p := range toMeasure {
		if p.Nodes <= most {
			m.Points = append(m.Points, p)
		}
	}
	readings := make([][]point, len(m.Points))
	err = cluster.With(ctx, "", cluster.Config{Nodes: most}, func(c *cluster.Cluster, dir string) error {
		for i, p := range m.Points { // which also brings all into memory
			if m.Points[i].Client, m.Points[i].Leaf, err = agents(ctx, c, bin, dir, p); err != nil {
				return err
			}
		}
		for range runs {
			for i, p := range m.Points {
				r, err := undisturbed(ctx, c, bin, p)
				if err != nil {
					return err
				}
				readings[i] = append(readings[i], r)
				fmt.Fprintf(os.Stderr, "%d × %d: %.0f ms, %.0f ms of processors, others %.0f %%\n", p.Nodes, p.Ranks, r.Wall, r.CPU, 100*r.Others)
			}
		}
		return nil
	})
	for i := range m.Points {
		m.Points[i].medians(readings[i])
	}
	return m, err
}

// medians fills a point with those of its readings.
func (p *point) medians(readings []point) {
	of := func(value func(*point) *float64) {
		var values []float64
		for i := range readings {
			values = append(values, *value(&readings[i]))
		}
		*value(p) = middle(values)
	}
	for _, value := range []func(*point) *float64{
		func(p *point) *float64 { return &p.Connect }, func(p *point) *float64 { return &p.Up },
		func(p *point) *float64 { return &p.Started }, func(p *point) *float64 { return &p.Wall },
		func(p *point) *float64 { return &p.CPU }, func(p *point) *float64 { return &p.Others },
	} {
		of(value)
	}
}

// undisturbed runs a size until nothing else used the machine meanwhile, or the
// least disturbed of some runs.
func undisturbed(ctx context.Context, c *cluster.Cluster, bin string, p point) (best point, err error) {
	for try := range triesPerRun {
		r, err := once(ctx, c, bin, p)
		if err != nil {
			return r, err
		}
		if try == 0 || r.Others < best.Others {
			best = r
		}
		if best.Others < disturbed {
			break
		}
	}
	return best, nil
}

// golaunchOn is golaunch on a cluster, at the size of p.
func golaunchOn(ctx context.Context, c *cluster.Cluster, bin string, p point, more ...string) *cluster.Cmd {
	argv := []string{bin, "-f", c.HostFile(), "--ssh-config", c.SSHConfig(), "-n", strconv.Itoa(p.Nodes * p.Ranks), "-N", strconv.Itoa(p.Ranks)}
	return c.CommandContext(ctx, cluster.Head, append(append(argv, more...), "/bin/true")...)
}

// once is one run of golaunch, by its own clock.
func once(ctx context.Context, c *cluster.Cluster, bin string, p point) (r point, err error) {
	own, all := clusterCPU(c), machineCPU()
	begin := time.Now()
	out, err := golaunchOn(ctx, c, bin, p, "--timing").CombinedOutput()
	wall := time.Since(begin)
	if err != nil {
		return r, fmt.Errorf("%d × %d: %w: %s", p.Nodes, p.Ranks, err, bytes.TrimSpace(out))
	}
	own, all = clusterCPU(c)-own, machineCPU()-all
	r.CPU = ms(own)
	r.Others = max(0, float64(all-own)) / float64(wall) / float64(runtime.NumCPU())
	for name, value := range map[string]*float64{"connect": &r.Connect, "agents up": &r.Up, "ranks started": &r.Started, "tree down": &r.Wall} {
		if *value, err = since(string(out), name); err != nil {
			return r, err
		}
	}
	return r, nil
}

// since is when a phase was over, by the table of --timing: milliseconds since
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

// agents runs golaunch once more for what its agents count themselves.
func agents(ctx context.Context, c *cluster.Cluster, bin, dir string, p point) (client, leaf float64, err error) {
	file := filepath.Join(dir, "report.json")
	if out, err := golaunchOn(ctx, c, bin, p, "--report", file).CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%d × %d: %w: %s", p.Nodes, p.Ranks, err, bytes.TrimSpace(out))
	}
	var doc report.Report
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return 0, 0, err
	}
	client, leaf = agentsOwn(&doc)
	return client, leaf, nil
}

// agentsOwn is what an agent without children takes of the processor, and what
// one more child adds.
func agentsOwn(doc *report.Report) (client, leaf float64) {
	children := map[string]int{}
	for _, n := range doc.Nodes {
		children[n.Parent]++
	}
	var leaves, inner []float64
	for _, n := range doc.Nodes {
		if children[n.Host] == 0 {
			leaves = append(leaves, 1000*n.Agent.CPU)
		}
	}
	leaf = middle(leaves)
	for _, n := range doc.Nodes {
		if k := children[n.Host]; k > 0 {
			inner = append(inner, (1000*n.Agent.CPU-leaf)/float64(k))
		}
	}
	return middle(inner), leaf
}

// clusterCPU is what all processes of a cluster have used so far.
func clusterCPU(c *cluster.Cluster) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.Nodes()[0].Init.PID))
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				stat, err := os.ReadFile(filepath.Join(mount, filepath.Dir(path), "cpu.stat"))
				if err == nil && strings.HasPrefix(string(stat), "usage_usec ") {
					micros, _ := strconv.ParseInt(strings.Fields(string(stat))[1], 10, 64)
					return time.Duration(micros) * time.Microsecond
				}
			}
		}
	}
	return 0
}

// machineCPU is what the whole machine has used so far.
func machineCPU() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, word := range strings.Fields(line)[1:] {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil && i < 8 && i != 3 && i != 4 { // idle, iowait
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// machine names the processor and the kernel.
func machine() string {
	model := "unknown processor"
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			model = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
			break
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores, %s, Linux %s", runtime.NumCPU(), model, strings.TrimSpace(string(release)))
}
