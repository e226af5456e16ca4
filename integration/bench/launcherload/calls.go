package launcherload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/unix"
)

// srunWord is the bench's first word in the place of Slurm's srun: one process has all
// agents, each of which calls golaunch over TCP and TLS, as on nodes of their own.
const srunWord = "srun"

// measureCalls runs one job whose agents call.
func measureCalls(ctx context.Context, golaunch string, nodes, ppn, degree int) (load, error) {
	self, err := os.Executable()
	if err != nil {
		return load{}, err
	}
	dir, err := os.MkdirTemp("", "launcherload-")
	if err != nil {
		return load{}, err
	}
	defer os.RemoveAll(dir)
	usage := filepath.Join(dir, "usage")
	if err := os.Mkdir(usage, 0o700); err != nil {
		return load{}, err
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s launcherload %s \"$@\"\n", usageDir, usage, self, srunWord)
	if err := os.WriteFile(filepath.Join(dir, "srun"), []byte(script), 0o700); err != nil {
		return load{}, err
	}
	// golaunch listens at the address of the route to a host whose name resolves.
	hosts := fmt.Sprintf("127.0.0.2,x[2-%d]", nodes)
	env := []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"),
		"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=" + hosts, fmt.Sprintf("SLURM_TASKS_PER_NODE=%d(x%d)", ppn, nodes),
	}
	return runJob(ctx, load{nodes: nodes, ppn: ppn}, usage, env, golaunch, "--bootstrap", "slurm", "-H", hosts, "--degree", fmt.Sprint(degree))
}

// serveCalling acts as that srun: --nodelist has the hosts, the words after "--" are
// the command of an agent, and standard input has the secret.
func serveCalling(words []string) error {
	nodes := ""
	for _, w := range words {
		if list, ok := strings.CutPrefix(w, "--nodelist="); ok {
			nodes = list
		}
	}
	hosts, err := hostlist.Parse(nodes, srunWord)
	if err != nil {
		return err
	}
	value := func(word string) string {
		if at := slices.Index(words, word); at >= 0 && at+1 < len(words) {
			return words[at+1]
		}
		return ""
	}
	within, err1 := time.ParseDuration(value(overlay.WithinWord))
	lostAfter, err2 := time.ParseDuration(value(overlay.LostAfterWord))
	_, err3 := unix.RaiseNoFile(1 << 20)
	secret, err4 := tlslink.ReadSecret(os.Stdin)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, h := range hosts {
		branch.agents.Add(1)
		all.Go(func() {
			c := &rendezvous.Caller{
				Secret: secret, Launcher: value(overlay.DialWord), Host: h.Name, Within: within,
				Note: func(line string) { fmt.Fprintf(os.Stderr, "launcherload: agent of %s: %s\n", h.Name, line) },
			}
			if err := agent.Call(context.Background(), c, lostAfter, agent.Harness{Warden: fakeWarden}); err != nil {
				fmt.Fprintf(os.Stderr, "launcherload: agent of %s: %v\n", h.Name, err)
			}
		})
	}
	all.Wait()
	return tellUsage()
}

// callsPage renders the results of agents that call.
func callsPage(s settings, all []load) string {
	var b strings.Builder
	b.WriteString(s.Head("What the launcher takes where agents call it"))
	fmt.Fprintf(&b, `%s, %s; medians of %d runs.

golaunch is a process of its own and the real one, started with --bootstrap slurm. srun is
stood in for: one process that has all agents, which are real but for their wardens and
ranks (as in [launcher.md](launcher.md)). Each calls golaunch over TCP and TLS 1.3 and proves
that it knows the job's secret; golaunch keeps all calls until the last host has called,
takes those of its children for links, and sends the others on to call their parents, in a
tree of degree %d. So every agent but those at the top has two handshakes, and golaunch one for
each agent. All of it shares the cores, so wall time is mostly the agents' handshakes.

Of golaunch: the most descriptors open at a time, sampled every %v, which are its calls; the
peak of its resident memory (VmHWM); processor time. "More" is by how much each grows for
every node more than in the row above.

| nodes | ranks | descriptors | more | memory MB | more, KB | CPU ms | more, us | wall s | more, ms | an agent: memory KB | CPU ms |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, runtime.Version(), results.Machine(), s.Runs, s.degree, poll)
	for i, l := range all {
		more := func(of func(load) float64, digits int) string {
			if i == 0 || all[i-1].ppn != l.ppn {
				return "–"
			}
			return fmt.Sprintf("%.*f", digits, slope(all[i-1], l, of))
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %s | %.1f | %s | %.1f | %s | %.2f | %s | %.0f | %.2f |\n", l.nodes, l.nodes*l.ppn,
			l.descriptors, more(descriptors, 2), float64(l.memory)/1e6, more(kilobytes, 1), l.cpu.Seconds()*1e3, more(microseconds, 0),
			l.wall.Seconds(), more(wallMilliseconds, 2), float64(l.agentMemory)/1e3/float64(l.agents), l.agentCPU.Seconds()*1e3/float64(l.agents))
	}
	if n := len(all); n > 2 && all[n-3].ppn == all[n-1].ppn {
		first, middle, last := all[n-3], all[n-2], all[n-1]
		fmt.Fprintf(&b, "\nFrom %d to %d nodes a node more costs so many times what it does from %d to %d (1 is linear): descriptors %.2f, memory %.2f, CPU %.2f, wall time %.2f.\n",
			middle.nodes, last.nodes, first.nodes, middle.nodes, bend(first, middle, last, descriptors), bend(first, middle, last, kilobytes),
			bend(first, middle, last, microseconds), bend(first, middle, last, wallMilliseconds))
	}
	return b.String()
}

func descriptors(l load) float64      { return float64(l.descriptors) }
func kilobytes(l load) float64        { return float64(l.memory) / 1e3 }
func microseconds(l load) float64     { return l.cpu.Seconds() * 1e6 }
func wallMilliseconds(l load) float64 { return l.wall.Seconds() * 1e3 }

// slope returns the growth of a number for each node from one job to another.
func slope(from, to load, of func(load) float64) float64 {
	return (of(to) - of(from)) / float64(to.nodes-from.nodes)
}

// bend returns the slope of the second part by that of the first.
func bend(first, middle, last load, of func(load) float64) float64 {
	return slope(middle, last, of) / slope(first, middle, of)
}
