// Package hardstart starts jobs on clusters that do not make it easy: a rack of hosts
// that drop every packet, and sshds that are slow or refuse connections at random while
// several jobs start on them at once. It writes docs/results/hard-start.md.
package hardstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/hostlist"
)

// sizes are the sizes of clusters and the numbers of jobs.
type sizes struct {
	nodes, dead int
	runs, jobs  int // of jobs at once
	slow        time.Duration
}

// maxStartups is sshd's own default: from 10 unauthenticated connections on it
// refuses 30 % of new ones at random, from 100 on all.
const maxStartups = "10:30:100"

// Run starts the jobs and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	var s sizes
	f.IntVar(&s.nodes, "nodes", 64, "nodes")
	f.IntVar(&s.dead, "dead", 16, "contiguous nodes that drop packets")
	f.Runs = 100
	f.IntVar(&s.jobs, "jobs", 3, "jobs at once in a round: each is another parent of every host")
	f.DurationVar(&s.slow, "slow", 2*time.Second, "how late one sshd in twenty answers")
	if err := f.Parse(); err != nil {
		return err
	}
	s.runs = f.Runs
	if s.dead < 1 || s.dead >= s.nodes-1 || s.jobs < 1 {
		return errors.New("-dead and -jobs are at least 1, and -dead is at most -nodes less 2")
	}
	bin, err := results.Built("golaunch")
	if err != nil {
		return err
	}
	page := &strings.Builder{}
	page.WriteString(f.Head("Starts that are made hard", "build", "native"))
	fmt.Fprintf(page, `%s. %d nodes (namespaces with an sshd each, MaxStartups %s, on one machine of two
cores), one rank each.

| what | runs | failed | median | longest |
|---|---|---|---|---|
`, results.Today(), s.nodes, maxStartups)
	failed, err := hardStart(ctx, s, filepath.Join(bin, "golaunch"), bin, func(part string, failures int, times []time.Duration) {
		fmt.Fprintf(page, "| %s | %d | %d | %.1f s | %.1f s |\n", part, len(times), failures, results.Median(times).Seconds(), slices.Max(times).Seconds())
	})
	if err != nil {
		return err
	}
	if err := f.Write(page.String()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d jobs failed", failed)
	}
	return nil
}

// hardStart makes a cluster below dir and runs everything on it.
func hardStart(ctx context.Context, s sizes, golaunch, dir string, tell func(part string, failed int, times []time.Duration)) (failed int, err error) {
	config := cluster.Config{Nodes: s.nodes, MaxStartups: maxStartups, Share: []string{filepath.Dir(golaunch)}}
	err = cluster.With(ctx, dir, config, func(c *cluster.Cluster, _ string) error {
		failed, err = hard{c, golaunch, s}.all(ctx, tell)
		return err
	})
	return failed, err
}

func (h hard) all(ctx context.Context, tell func(part string, failed int, times []time.Duration)) (failed int, err error) {

	took, err := h.rack(ctx)
	if err != nil {
		return 0, err
	}
	tell(fmt.Sprintf("%d contiguous nodes drop packets, --spares %[1]d --allow-dead-nodes", h.dead), 0, []time.Duration{took})

	times, failed, err := h.slowAndRefusing(ctx)
	if err != nil {
		return failed, err
	}
	tell(fmt.Sprintf("one sshd in twenty answers after %v, %d jobs at once", h.slow, h.jobs), failed, times)
	return failed, nil
}

type hard struct {
	c        *cluster.Cluster
	golaunch string
	sizes
}

// hostLines matches lines about hosts that could not be started, folded if several have
// the same text.
var hostLines = regexp.MustCompile(`(?m)^golaunch:   hosts? (\S+): `)

// listed returns the hosts that golaunch lists as not started.
func listed(said string) map[string]bool {
	names := map[string]bool{}
	for _, line := range hostLines.FindAllStringSubmatch(said, -1) {
		hosts, err := hostlist.Parse(line[1], "golaunch")
		if err != nil {
			continue // no list
		}
		for _, h := range hosts {
			names[h.Name] = true
		}
	}
	return names
}

// rack cuts neighbouring nodes off and starts a job over all, with ranks for
// the rest; it must list every one of them.
func (h hard) rack(ctx context.Context) (time.Duration, error) {
	dead := h.c.Nodes()[h.nodes/4 : h.nodes/4+h.dead]
	for _, n := range dead {
		if err := h.c.Partition(n.Name); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	out, err := h.job(ctx, h.nodes-h.dead, "--spares", strconv.Itoa(h.dead), "--allow-dead-nodes").CombinedOutput()
	took := time.Since(begin)
	if err != nil {
		return took, fmt.Errorf("a dead rack: %w: %s", err, out)
	}
	told := listed(string(out))
	for _, n := range dead {
		if !told[n.Name] {
			return took, fmt.Errorf("a dead rack: %s is not listed: %s", n.Name, out)
		}
		if err := h.c.Heal(n.Name); err != nil {
			return took, err
		}
	}
	if alive := strings.Count("\n"+string(out), "\nn"); alive != h.nodes-h.dead {
		return took, fmt.Errorf("a dead rack: %d hosts answered, not %d: %s", alive, h.nodes-h.dead, out)
	}
	return took, nil
}

func (h hard) job(ctx context.Context, ranks int, more ...string) *cluster.Cmd {
	argv := []string{h.golaunch, "-f", h.c.HostFile(), "--ssh-config", h.c.SSHConfig(), "-n", strconv.Itoa(ranks), "-N", "1"}
	return h.c.CommandContext(ctx, cluster.Head, append(append(argv, more...), "hostname")...)
}

// slowAndRefusing starts rounds of several jobs at once.
func (h hard) slowAndRefusing(ctx context.Context) (times []time.Duration, failed int, err error) {
	for i, n := range h.c.Nodes() {
		if i%20 == 10 {
			if err := h.c.Slow(n.Name, h.slow); err != nil {
				return nil, 0, err
			}
		}
	}
	for range h.runs {
		took, errs := make([]time.Duration, h.jobs), make([]error, h.jobs)
		var round errgroup.Group
		for i := range h.jobs {
			round.Go(func() error {
				begin := time.Now()
				out, err := h.job(ctx, h.nodes).CombinedOutput()
				took[i] = time.Since(begin)
				if n := strings.Count(string(out), "\n"); err == nil && n != h.nodes {
					err = fmt.Errorf("%d lines, not %d", n, h.nodes)
				}
				if err != nil {
					errs[i] = fmt.Errorf("%w: %s", err, out)
				}
				return ctx.Err()
			})
		}
		if err := round.Wait(); err != nil {
			return times, failed, err
		}
		times = append(times, took...)
		for _, err := range errs {
			if err != nil {
				failed++
				fmt.Fprintln(os.Stderr, "hardstart:", err)
			}
		}
	}
	return times, failed, nil
}
