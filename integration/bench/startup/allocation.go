package startup

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// allocated is the provider whose nodes are namespaces in an allocation of Slurm's.
const allocated = "slurm"

// The contenders in an allocation.
const (
	stepName = "srun, a task per node" // golaunch's own use of srun, and no more
	pmi2Name = "srun, PMI-2"
	sshName  = "golaunch, ssh"
	// hydraSSH is there for the key exchange's cost, which only OpenSSH's client has.
	hydraSSH = "Hydra, ssh"
)

// overSSH is /bin/true once more, in the contest of launchers over ssh.
const overSSH = "true, ssh"

// helloName is a row's name of the MPI program.
const helloName = "mpihello"

// helloRanks bounds the ranks of MPI: each polls, and takes tens of megabytes.
const helloRanks = 128

// inAllocation returns the environment of commands in the allocation.
func inAllocation(f *field) []string { return f.inside }

// allocationLaunchers start a job on the nodes of an allocation.
var allocationLaunchers = []contender{
	{name: stepName, resident: true, env: inAllocation, argv: func(_ *field, t task) []string {
		n := strconv.Itoa(t.nodes)
		return []string{"srun", "--mpi=none", "-N", n, "-n", n, "--ntasks-per-node=1", "/bin/true"}
	}},
	{name: golaunchName, resident: true, env: inAllocation, argv: func(f *field, t task) []string {
		argv := []string{filepath.Join(f.bin, "golaunch"), "--bootstrap", "slurm", "-n", t.ranks(), "-N", strconv.Itoa(t.ppn)}
		return append(argv, t.program...)
	}},
	{name: pmi2Name, resident: true, env: inAllocation, argv: func(_ *field, t task) []string {
		return append([]string{"srun", "--mpi=pmi2", "-N", strconv.Itoa(t.nodes), "-n", t.ranks(), "--ntasks-per-node", strconv.Itoa(t.ppn)}, t.program...)
	}},
	{name: sshName, argv: func(f *field, t task) []string { return f.golaunch(t) }},
}

// keyExchangeLaunchers returns those over ssh, whose key exchange is told apart.
func keyExchangeLaunchers() []contender {
	hydra := named(hydraName)[0]
	hydra.name = hydraSSH
	return append(slices.Clone(allocationLaunchers[1:2]), allocationLaunchers[3], hydra)
}

// allocationJobs starts programs on the nodes of allocations: one for each number of
// nodes and of ranks on them.
func (b *bench) allocationJobs(ctx context.Context, f *field) error {
	if f.noSlurm != "" {
		return errors.New(f.noSlurm)
	}
	for _, nodes := range b.nodes {
		for _, ppn := range b.ranks {
			t := task{nodes: nodes, ppn: ppn}
			err := f.allocate(ctx, t, func() error { return b.inOne(ctx, f, t) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// inOne runs the contests of one allocation.
func (b *bench) inOne(ctx context.Context, f *field, t task) error {
	t.program = trueProgram
	if err := b.hold(ctx, f, place{partSlurm, f.kex, t.nodes, t.ppn, overSSH}, f.runners(keyExchangeLaunchers(), t)); err != nil {
		return err
	}
	if f.kex != cluster.KexDefault { // the rest makes no difference there
		return nil
	}
	client := filepath.Join(b.bin, "native", "pmi2client")
	for _, p := range []struct {
		name    string
		program []string
		look    func(string, time.Time, *reading) error
	}{
		{"true", trueProgram, nil},
		{helloName, []string{filepath.Join(b.bin, "native", helloName)}, f.greeted(t)},
		{twoGets, []string{client, "-m", "neighbour"}, exchangeOf(t)},
		{allGets, []string{client, "-m", "all"}, exchangeOf(t)},
	} {
		if p.name == helloName && t.nodes*t.ppn > helloRanks {
			continue
		}
		t.program = p.program
		list := f.runners(allocationLaunchers, t)
		for i := range list {
			if list[i].name != stepName {
				list[i].look = p.look
			}
		}
		if err := b.hold(ctx, f, place{partSlurm, f.kex, t.nodes, t.ppn, p.name}, list); err != nil {
			return err
		}
	}
	return nil
}

// allocate makes an allocation of so many nodes, and tasks on each, for as long as work
// takes.
func (f *field) allocate(ctx context.Context, t task, work func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	a, err := f.Allocate(ctx, t.nodes, t.ppn)
	if err != nil {
		return err
	}
	defer a.Release()
	f.inside = a.Env
	if err := f.remember(); err != nil { // salloc, too
		return err
	}
	return work()
}

// greeted checks that all ranks of MPI have spoken, each from its own host.
func (f *field) greeted(t task) func(string, time.Time, *reading) error {
	return func(out string, _ time.Time, _ *reading) error { return f.ranOn(out, t) }
}

// exchangeOf reads the times that pmi2client prints: the exchange is from the first
// rank's begin to the last rank's end.
func exchangeOf(t task) func(string, time.Time, *reading) error {
	return func(out string, _ time.Time, r *reading) error {
		seen := map[int]bool{}
		first, last := int64(math.MaxInt64), int64(0)
		for line := range strings.Lines(out) {
			var rank int
			var at [4]int64
			if n, _ := fmt.Sscanf(line, "rank %d times %d %d %d %d", &rank, &at[0], &at[1], &at[2], &at[3]); n != 5 {
				return fmt.Errorf("not a line of pmi2client -m: %.60q", line)
			}
			seen[rank] = true
			first, last = min(first, at[0]), max(last, at[3])
		}
		if len(seen) != t.nodes*t.ppn {
			return fmt.Errorf("%d ranks of %d told their times", len(seen), t.nodes*t.ppn)
		}
		r.init = time.Duration(last - first)
		return nil
	}
}

// allocations writes the page of provider slurm.
func (p *page) allocations() {
	p.heading("Start-up in an allocation, measured", "build", "native")
	fmt.Fprintf(p, ` CPU is the processor time of everything on the cluster's
machines, Slurm's daemons and sshds included, by their cgroup (the whole machine's where there is no
cgroup v2), until all is quiet again. Nodes are network namespaces on this machine with a slurmd and
an sshd each. All commands run on head, in an allocation that is there before.

- **golaunch** starts its agents by one srun (--bootstrap slurm), which dial it and each other over TLS.
- **%s** is srun --mpi=none with /bin/true once on each node: what golaunch has srun do, and no more. So
  golaunch cannot be faster. It is the same in each row of as many nodes.
- **%s** is srun --mpi=pmi2, whose daemons start the ranks and serve them.
- **%s** is golaunch over ssh, OpenSSH's default key exchange.

Programs: /bin/true; native/programs/mpihello.c, which is MPICH's MPI_Init and MPI_Finalize, with up to
%d ranks; native/programs/pmi2client.c on Slurm's libpmi2, which puts a value, fences and gets two values or
everyone's (p).
`, stepName, pmi2Name, sshName, helloRanks)
	all := p.of(partSlurm, cluster.KexDefault)
	contests := slices.DeleteFunc(slices.Clone(all), func(c *contest) bool { return c.program == overSSH })
	keys := slices.DeleteFunc(append(all, p.of(partSlurm, cluster.KexCurve25519)...), func(c *contest) bool { return c.program != overSSH })
	if len(keys) > 0 {
		fmt.Fprint(p, `
## The key exchange of ssh

`+"`/bin/true`"+` over ssh. Default is OpenSSH's: sntrup761 between two OpenSSHs, curve25519 with golaunch's client; curve25519
is KexAlgorithms curve25519-sha256 at every sshd and every client.
`)
		p.threeTables(keys, func(c *contest) string { return shape(c) + ", " + c.kex }, "nodes × ranks, key exchange")
	}
	if len(contests) == 0 {
		return
	}
	label := func(c *contest) string { return shape(c) + ", " + c.program }
	fmt.Fprint(p, "\n## Start to finish\n")
	p.threeTables(contests, label, "nodes × ranks, program")
	var exchanges []*contest
	for _, c := range contests {
		if c.program == twoGets || c.program == allGets {
			exchanges = append(exchanges, c)
		}
	}
	fmt.Fprint(p, "\n## The PMI-2 exchange alone\n\nFrom the first rank's put to the last rank's last get, by the ranks' clock.\n")
	names := without(contenders(exchanges), stepName)
	p.matrix("Exchange, ms", exchanges, label, "nodes × ranks, program", names, 2, func(c *contest, n string) float64 { return c.median(n, inits) })
	p.matrix("By golaunch's", exchanges, label, "nodes × ranks, program", without(names, golaunchName), 2,
		func(c *contest, n string) float64 { return c.ratio(n, golaunchName, inits) })
}
