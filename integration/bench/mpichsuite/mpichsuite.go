// Package mpichsuite builds MPICH with the device ch3:nemesis and runs the spawn
// programs of its own test suite under golaunch, on one machine, over agents of one
// machine and over a cluster, and under Hydra over the cluster. Beside them run
// programs whose spawns are refused and whose worlds part. It writes
// docs/results/mpich-spawn.md.
package mpichsuite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

const clusterNodes = 4

// Run runs the programs and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	limit := f.Duration("limit", 3*time.Minute, "how long a program may take; those that the list gives more time get as much more")
	only := f.String("only", "", "run the programs of MPICH's whose lines in the list begin with `TEXT`")
	if err := f.Parse(); err != nil {
		return err
	}
	if *limit < time.Second {
		return fmt.Errorf("-limit %v: want a second or more", *limit)
	}
	bin, err := results.Built("golaunch")
	if err != nil {
		return err
	}
	mpich, err := build(ctx, bin)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(mpich, "spawn", "testlist"))
	if err != nil {
		return err
	}
	tests, err := parseList(string(list), *only, *limit)
	if err != nil {
		return err
	}
	tests = append(tests, ours(filepath.Join(bin, "native", "mpispawn.ch3"), *limit)...)
	var tried []trial
	config := cluster.Config{Nodes: clusterNodes, Share: []string{bin, mpich}}
	err = cluster.With(ctx, "", config, func(c *cluster.Cluster, _ string) error {
		ways, err := ways(c, filepath.Join(bin, "golaunch"))
		if err != nil {
			return err
		}
		tried, err = tryAll(ctx, tests, ways, filepath.Join(mpich, "spawn"))
		return err
	})
	if err != nil {
		return err
	}
	if err := f.Write(page(f.Frame, tried)); err != nil {
		return err
	}
	return verdict(tried)
}

// build makes MPICH and our program for it, and returns MPICH's directory.
func build(ctx context.Context, bin string) (string, error) {
	cmd := exec.CommandContext(ctx, "scripts/mpich.sh")
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/mpich.sh: %w", err)
	}
	dir := strings.TrimSpace(string(said))
	program := filepath.Join(bin, "native", "mpispawn.ch3")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		return "", err
	}
	cmd = exec.CommandContext(ctx, filepath.Join(dir, "bin", "mpicc"), "-std=gnu11", "-O2", "-o", program, "native/programs/mpispawn.c")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mpispawn: %w: %s", err, said)
	}
	return dir, nil
}

// way is a way to start programs.
type way struct {
	name  string
	hydra bool
	slots bool // its hosts may be given slots
	run   func(ctx context.Context, argv ...string) (stdout, stderr []byte, err error)
	argv  func(t test, limit time.Duration) []string
}

func ways(c *cluster.Cluster, golaunch string) ([]way, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	outputs := func(run func() error, cmd *exec.Cmd) (stdout, stderr []byte, err error) {
		cmd.WaitDelay = time.Second // for output of processes that are left
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		err = run()
		return o.Bytes(), e.Bytes(), err
	}
	here := func(ctx context.Context, argv ...string) (stdout, stderr []byte, err error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		return outputs(cmd.Run, cmd)
	}
	onHead := func(ctx context.Context, argv ...string) (stdout, stderr []byte, err error) {
		cmd := c.CommandContext(ctx, cluster.Head, argv...)
		return outputs(cmd.Run, cmd.Cmd)
	}
	var nodes, slots []string
	for _, n := range c.Nodes() {
		nodes, slots = append(nodes, n.Name), append(slots, n.Name+":1")
	}
	start := func(flags ...string) func(t test, limit time.Duration) []string {
		return func(t test, limit time.Duration) []string {
			argv := append([]string{golaunch, "--timeout", limit.String(), "-n", fmt.Sprint(t.ranks)}, flags...)
			return append(argv, t.argv...)
		}
	}
	oneMachine := func(t test, limit time.Duration) []string {
		if t.slots {
			return start("-H", fmt.Sprintf("%s:%d", host, clusterNodes))(t, limit)
		}
		return start()(t, limit)
	}
	overCluster := func(t test, limit time.Duration) []string {
		hosts := nodes
		if t.slots {
			hosts = slots
		}
		return start("-H", strings.Join(hosts, ","), "--ssh-config", c.SSHConfig())(t, limit)
	}
	hydra := func(t test, _ time.Duration) []string {
		return append([]string{"mpiexec.hydra", "-launcher", "ssh", "-hosts", strings.Join(nodes, ","), "-n", fmt.Sprint(t.ranks)}, t.argv...)
	}
	return []way{
		{"golaunch, one machine", false, true, here, oneMachine},
		{"2 agents", false, false, here, start("--nodes", "2", "--prelaunch")},
		{"4 agents", false, false, here, start("--nodes", "4", "--prelaunch", "--degree", "2")},
		{fmt.Sprintf("golaunch, %d nodes", clusterNodes), false, true, onHead, overCluster},
		{fmt.Sprintf("Hydra, %d nodes", clusterNodes), true, false, onHead, hydra},
	}, nil
}

// trial is the outcome of a test in one way.
type trial struct {
	test  test
	way   way
	fault string // the reason that it did not pass; "" if it did
	took  time.Duration
}

// tryAll runs every test in every way that is for it, one after the other, in a
// folder.
func tryAll(ctx context.Context, tests []test, ways []way, dir string) (tried []trial, err error) {
	for _, t := range tests {
		for _, w := range ways {
			if t.ours && w.hydra || t.slots && !w.slots {
				continue
			}
			begin := time.Now()
			fault, err := try(ctx, t, w, dir)
			if err != nil {
				return nil, err
			}
			if fault != "" {
				fmt.Fprintf(os.Stderr, "mpichsuite: %s, %s: %s\n", t.name, w.name, fault)
			}
			tried = append(tried, trial{t, w, fault, time.Since(begin)})
		}
	}
	return tried, nil
}

// grace is the time beyond its limit for a job to be ended.
const grace = time.Minute

// try runs a test and returns the reason that it did not pass, or "".
func try(ctx context.Context, t test, w way, dir string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, t.limit+grace)
	defer cancel()
	seconds := fmt.Sprint(int(t.limit.Seconds()))
	argv := append([]string{"/bin/sh", "-c", `cd "$1" && MPIEXEC_TIMEOUT=$2 && export MPIEXEC_TIMEOUT && shift 2 && exec "$@"`, "sh", dir, seconds},
		w.argv(t, t.limit)...)
	stdout, stderr, err := w.run(limited, argv...)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	code := 0
	var exit *exec.ExitError
	switch {
	case limited.Err() != nil:
		return fmt.Sprintf("not done, and not to be ended, within %v", t.limit+grace), nil
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		return "", fmt.Errorf("%s: %w", w.name, err)
	}
	if fault := t.judge(string(stdout), code); fault != "" {
		return fmt.Sprintf("%s (%s)", fault, bytes.TrimSpace(slices.Concat(stdout, stderr))), nil
	}
	return "", nil
}

// verdict returns an error if golaunch failed anything.
func verdict(tried []trial) error {
	failed := 0
	for _, r := range tried {
		if !r.way.hydra && r.fault != "" {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("golaunch: %d runs failed", failed)
	}
	return nil
}
