package pmi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/report"
)

// reading is one round of an exchange, in milliseconds.
type reading struct {
	fence float64 // from the first begin to the last end of the fence, puts included
	gets  float64 // from there to the last value got
	whole float64
	// Of single ranks, the steps that each took itself.
	put, wait, get steps
	agents         float64 // seconds of processor time of golaunch's agents, their start included
}

// steps has the times of one step of rank 0, and of the fastest and slowest rank.
type steps struct{ root, least, most float64 }

// pattern is one exchange.
type pattern struct {
	mode   string // of pmiclient -m
	name   string
	title  string
	figure string
	rounds int // each with keys of its own; short ones are repeated
}

var patterns = []pattern{
	{"neighbour", "1to2", "one put and two gets", "3.3", 9},
	{"all", "1top", "one put and p gets", "3.4", 1},
}

// The contenders beside the policies.
const (
	floor = "floor"
	hydra = "Hydra"
)

func (s settings) contenders() []string { return append([]string{floor, hydra}, s.policies...) }

// place identifies a reading.
type place struct {
	nodes     int
	mode      string
	contender string
}

// measure runs everything.
func measure(ctx context.Context, s settings) (map[place][]reading, error) {
	results := map[place][]reading{}
	for _, nodes := range s.nodes {
		if err := s.onCluster(ctx, nodes, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (s settings) onCluster(ctx context.Context, nodes int, results map[place][]reading) error {
	// The key exchange does not matter here, and this one is the quickest.
	config := cluster.Config{Nodes: nodes, Kex: cluster.KexCurve25519}
	return cluster.With(ctx, "", config, func(c *cluster.Cluster, dir string) error {
		return s.rounds(ctx, c, dir, nodes, results)
	})
}

func (s settings) rounds(ctx context.Context, c *cluster.Cluster, dir string, nodes int, results map[place][]reading) error {
	for _, p := range patterns {
		for run := range s.Runs {
			for _, contender := range s.contenders() {
				if run > 0 && p.rounds == 1 && !slices.Contains([]string{floor, hydra, usual}, contender) {
					continue // it is long, and stands by itself
				}
				r, err := s.once(ctx, c, dir, nodes, p, contender)
				if err != nil {
					return fmt.Errorf("%s, %d nodes, %s: %w", contender, nodes, p.mode, err)
				}
				at := place{nodes, p.mode, contender}
				results[at] = append(results[at], r...)
			}
		}
	}
	return nil
}

// once runs one contender, and returns its rounds.
func (s settings) once(ctx context.Context, c *cluster.Cluster, dir string, nodes int, p pattern, contender string) ([]reading, error) {
	n, per := strconv.Itoa(nodes*s.ranks), strconv.Itoa(s.ranks)
	client := []string{filepath.Join(s.bin, "native", "pmiclient"), "-t", "-m", p.mode, "-n", strconv.Itoa(p.rounds)}
	file := filepath.Join(dir, "report.json")
	var argv []string
	switch contender {
	case floor:
		argv = append([]string{filepath.Join(s.bin, "native", "pmifloor"), strconv.Itoa(nodes), per}, append(client, "-u")...)
	case hydra:
		argv = append([]string{"mpiexec.hydra", "-f", c.HostFile(), "-launcher", "ssh", "-n", n, "-ppn", per}, client...)
	default:
		argv = append([]string{filepath.Join(s.bin, "golaunch"), "-f", c.HostFile(), "--ssh-config", c.SSHConfig(),
			"-n", n, "-N", per, "--cache", contender, "--report", file}, client...)
	}
	cmd := c.CommandContext(ctx, cluster.Head, argv...)
	if contender == hydra {
		cmd.Env = append(cmd.Env, "HYDRA_LAUNCHER_EXTRA_ARGS=-F "+c.SSHConfig())
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	rounds, err := read(string(out), nodes*s.ranks, p.rounds)
	if err != nil || contender == floor || contender == hydra {
		return rounds, err
	}
	cpu, err := agents(file)
	for i := range rounds {
		rounds[i].agents = cpu
	}
	return rounds, err
}

// agents returns the processor time of a report's agents.
func agents(file string) (seconds float64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	var doc report.Report
	if err := json.Unmarshal(text, &doc); err != nil {
		return 0, err
	}
	for _, l := range doc.Levels {
		seconds += l.Sum.Agent.CPU
	}
	return seconds, nil
}

// read takes the lines of pmiclient -t, one of each rank for each round.
func read(out string, ranks, rounds int) ([]reading, error) {
	all := make([][][4]float64, rounds)
	next := make([]int, ranks) // round of each rank
	for line := range strings.Lines(out) {
		var rank int
		var t [4]int64
		n, _ := fmt.Sscanf(line, "rank %d times %d %d %d %d", &rank, &t[0], &t[1], &t[2], &t[3])
		if n != 5 || rank < 0 || rank >= ranks || next[rank] == rounds {
			return nil, fmt.Errorf("not a line of pmiclient -t, or too many: %q", line)
		}
		times := [4]float64{}
		for i := range t {
			times[i] = float64(t[i]) / 1e6
		}
		if all[next[rank]] == nil {
			all[next[rank]] = make([][4]float64, ranks)
		}
		all[next[rank]][rank] = times
		next[rank]++
	}
	if i := slices.IndexFunc(next, func(n int) bool { return n < rounds }); i >= 0 {
		return nil, fmt.Errorf("rank %d told the times of %d rounds of %d", i, next[i], rounds)
	}
	var readings []reading
	for _, round := range all {
		readings = append(readings, summary(round))
	}
	return readings, nil
}

// summary returns the reading of a round, from the times of its ranks.
func summary(all [][4]float64) reading {
	begin, fenced, ended := math.Inf(1), 0., 0.
	for _, t := range all {
		begin, fenced, ended = min(begin, t[0]), max(fenced, t[2]), max(ended, t[3])
	}
	step := func(i int) steps {
		s := steps{root: all[0][i+1] - all[0][i], least: math.Inf(1)}
		for _, t := range all {
			s.least, s.most = min(s.least, t[i+1]-t[i]), max(s.most, t[i+1]-t[i])
		}
		return s
	}
	return reading{fence: fenced - begin, gets: ended - fenced, whole: ended - begin, put: step(0), wait: step(1), get: step(2)}
}

// middle returns the median of a number of readings.
func middle(readings []reading, of func(reading) float64) float64 {
	var values []float64
	for _, r := range readings {
		values = append(values, of(r))
	}
	return results.Median(values)
}

// ratio returns the median over the runs of a's number by b's.
func ratio(a, b []reading, of func(reading) float64) float64 {
	n := min(len(a), len(b)) // one of them may have been left out at times
	if n == 0 {
		return math.NaN()
	}
	var values []float64
	for i := range n {
		values = append(values, of(a[i])/of(b[i]))
	}
	return results.Median(values)
}

func fence(r reading) float64 { return r.fence }
func gets(r reading) float64  { return r.gets }
func whole(r reading) float64 { return r.whole }
