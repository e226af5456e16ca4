// Package killtable kills golaunch's parts, one at a time and in every phase of a job,
// on a test cluster of this machine, and writes the remains and their lifetimes as
// docs/results/kill-table.md.
//
// After every blow it wants golaunch's right exit status and message, the node's own
// process 1 alive, and of the job nothing on any machine: every process that was not
// there before counts, with any changes to its environment, session or parent.
package killtable

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings are the command line.
type settings struct {
	as     []string
	only   *regexp.Regexp
	phases []phase
	results.Frame
	verbose bool
	bin     string
}

// The places: golaunch's accounts on the nodes.
var places = map[string]struct {
	title  string
	way    string
	config cluster.Config
}{
	"root":   {"Root, with cgroup v2", overSSH, cluster.Config{}},
	"user":   {"An ordinary user, no cgroup to write to", overSSH, cluster.Config{User: "guest"}},
	"docker": {"Containers, root without cgroup v2 to write to", overSSH, cluster.Config{Provider: cluster.Docker}},
	"slurm":  {"An ordinary user in an allocation of Slurm's, no sshd used", overSlurm, cluster.Config{User: "guest", Slurm: true}},
}

// Run kills the parts and writes the table.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	var page strings.Builder
	page.WriteString(s.Head("The kill table", "build", "native"))
	fmt.Fprintf(&page, preamble, results.Today(), s.Runs, lostAfter, allowance)
	failures := 0
	for _, as := range s.as {
		failed, err := table(ctx, &page, s, as)
		if err != nil {
			return fmt.Errorf("%s: %w", as, err)
		}
		failures += failed
	}
	if err := s.Write(page.String()); err != nil {
		return err
	}
	if failures > 0 {
		return fmt.Errorf("%d runs failed", failures)
	}
	return nil
}

const preamble = `%s. Seven nodes of namespaces (or containers) with an sshd each in a binary
tree, two ranks per node, on one machine; %d runs per cell, --lost-after %v.
A cell says in how many runs golaunch ended with the right exit status and
message and nothing of the job was left on any node, and how long after the
blow's detection (at once where a connection ends, --lost-after where it falls
silent) the last process was gone: the median, and the longest, of the runs in which all of
that was so within the %v that are promised. (Standard error tells of the others.)
Left is every process that was not on the node before the job, but for sshd's own
process of a connection that a partition has cut: sshd waits for TCP to give up, or
for its ClientAliveInterval, and for slurmstepd, Slurm's own process for a step, which
tells of the step's end by way of other nodes, dead ones among them. During start-up
golaunch may replace what was killed, and the job goes on: it then has to come to
run, and is ended by SIGTERM. Under "PMIx" all ranks but one wait in a fence of PMIx, or
as the blow says.
`

// table makes one place's cluster and table; it returns the number of failed runs.
func table(ctx context.Context, page *strings.Builder, s settings, as string) (failures int, err error) {
	place := places[as]
	fmt.Fprintf(page, "\n## %s\n\n", place.title)
	if reason := unavailable(place.config); reason != nil {
		fmt.Fprintf(page, "Not run: %v.\n", reason)
		return 0, nil
	}
	config := place.config
	config.Nodes, config.Share = nodeCount, []string{s.bin}
	err = cluster.With(ctx, s.bin, config, func(c *cluster.Cluster, _ string) error {
		failures, err = s.rows(ctx, c, place.way, page)
		return err
	})
	return failures, err
}

// rows runs one table; it returns the number of failed runs.
func (s settings) rows(ctx context.Context, c *cluster.Cluster, way string, page *strings.Builder) (failures int, err error) {
	fmt.Fprint(page, "| blow |")
	for _, p := range s.phases {
		fmt.Fprintf(page, " %v |", p)
	}
	fmt.Fprintf(page, "\n|---|%s\n", strings.Repeat("---|", len(s.phases)))
	for _, b := range blows() {
		if !s.only.MatchString(b.name) {
			continue
		}
		fmt.Fprintf(page, "| %s |", b.name)
		for _, p := range s.phases {
			text, failed, err := s.repeat(ctx, c, way, b, p)
			if err != nil {
				return failures, err
			}
			failures += failed
			fmt.Fprintf(page, " %s |", text)
		}
		fmt.Fprintln(page)
	}
	return failures, nil
}

// repeat runs one cell as often as asked and returns its text.
func (s settings) repeat(ctx context.Context, c *cluster.Cluster, way string, b blow, column phase) (text string, failed int, err error) {
	p, there := b.in(way, column)
	switch {
	case !there:
		return "", 0, nil
	case lacks(filepath.Join(s.bin, "native"), p):
		return "not built", 0, nil
	}
	var times []time.Duration
	survived := 0
	for range s.Runs {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		cell := &cell{ctx: ctx, cluster: c, golaunch: filepath.Join(s.bin, "golaunch"), native: filepath.Join(s.bin, "native"), allowance: allowance, lostAfter: lostAfter, blow: b, phase: p, way: way}
		took, err := cell.run(patience)
		if err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "killtable: %s, %v: %v\n", b.name, p, err)
			continue
		}
		times = append(times, took)
		if cell.survived {
			survived++
		}
	}
	text = fmt.Sprintf("%d/%d", len(times), s.Runs)
	if len(times) > 0 {
		text += fmt.Sprintf(", %.2f s, %.2f s", results.Median(times).Seconds(), slices.Max(times).Seconds())
	}
	if survived > 0 {
		text += fmt.Sprintf(", %d went on", survived)
	}
	if s.verbose {
		fmt.Fprintf(os.Stderr, "%s, %v: %s\n", b.name, p, text)
	}
	return text, failed, nil
}

// patience bounds the wait of a run for the end of remains.
const patience = 20 * time.Second

// in returns the phase in which a blow is shown in a column, if it is. It is an sshd that
// makes start-up long enough to strike.
func (b blow) in(way string, column phase) (phase, bool) {
	if b.way != "" && b.way != way || way == overSlurm && column == startUp {
		return 0, false
	}
	if b.phases == nil {
		return column, true
	}
	for _, p := range b.phases {
		if p.String() == column.String() {
			return p, true
		}
	}
	return 0, false
}

// lacks reports whether the program of a phase was not built, for want of libpmix.
func lacks(native string, p phase) bool {
	if p.String() != fence.String() {
		return false
	}
	_, err := os.Stat(filepath.Join(native, pmixClient))
	return err != nil
}

func unavailable(config cluster.Config) error {
	switch {
	case config.Provider == cluster.Docker:
		return cluster.DockerUnavailable()
	case config.Slurm:
		return cluster.SlurmUnavailable()
	}
	return cluster.Unavailable()
}

func parse(f *results.Flags) (settings, error) {
	var s settings
	f.Runs = 20
	as := f.String("as", "root,user,docker,slurm", "the places: any of root, user, docker, slurm")
	only := f.String("only", "", "only blows that match `REGEXP`")
	during := f.String("phases", "", "only phases that match `REGEXP`")
	f.BoolVar(&s.verbose, "v", false, "tell each cell on standard error")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	s.as = strings.Split(*as, ",")
	for _, word := range s.as {
		if _, ok := places[word]; !ok {
			return s, fmt.Errorf("-as %q: want root, user, docker or slurm", word)
		}
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("-only: %w", err)
	}
	columns, err := regexp.Compile(*during)
	if err != nil {
		return s, fmt.Errorf("-phases: %w", err)
	}
	for _, p := range phases {
		if columns.MatchString(p.String()) {
			s.phases = append(s.phases, p)
		}
	}
	s.bin, err = results.Built("golaunch")
	return s, err
}
