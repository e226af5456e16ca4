package startup

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// full is the number of nodes with several ranks.
const full = 64

var trueProgram = []string{"/bin/true"}

// localRounds is the least number of runs of golaunch and the floor on one machine. The
// time of one rank there is compared from size to size, and a single run is off by as
// much as the sizes may be.
const localRounds = 5

// patience bounds Hydra's time on one machine for claimedRanks, whose time is one of
// the claims.
const (
	patience     = 150 * time.Second
	claimedRanks = 4096
)

// localJobs starts /bin/true on this machine alone: on head, so that the
// processor time is counted.
func (b *bench) localJobs(ctx context.Context, f *field) error {
	for _, n := range b.local {
		ranks := strconv.Itoa(n)
		list := []runner{
			{name: floorName, argv: []string{filepath.Join(b.bin, "native", "floor"), ranks, "/bin/true"}, least: localRounds},
			{name: golaunchName, argv: []string{filepath.Join(b.bin, "golaunch"), "-n", ranks, "/bin/true"}, least: localRounds},
			{name: hydraName, argv: []string{"mpiexec.hydra", "-n", ranks, "/bin/true"}},
			{name: openMPIName, argv: []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks, "/bin/true"}},
		}
		for i, c := range named(hydraName, openMPIName) {
			list[2+i].reason = f.unfit(c, task{})
		}
		if n == claimedRanks {
			list[2].limit, list[2].once = max(f.limit, patience), true
		}
		if err := b.hold(ctx, f, place{part: partLocal, ppn: n, program: "true"}, list); err != nil {
			return err
		}
	}
	return nil
}

// nodeJobs starts one rank on each of more and more nodes.
func (b *bench) nodeJobs(ctx context.Context, f *field) error {
	list := launchers
	if f.provider == cluster.Docker {
		list = containerLaunchers()
	}
	if err := f.check(ctx, list, task{nodes: b.most(full), ppn: 2}); err != nil {
		return err
	}
	for _, n := range b.nodes {
		if err := b.job(ctx, f, partNodes, list, task{n, 1, trueProgram}); err != nil {
			return err
		}
	}
	return nil
}

// rankJobs starts more and more ranks on each of 64 nodes.
func (b *bench) rankJobs(ctx context.Context, f *field) error {
	all := b.ranks
	if f.kex != cluster.KexDefault { // the default part's results are not told again
		all = []int{b.pmiRanks()}
	}
	for _, ppn := range all {
		list := named(floorName, golaunchName, hydraName, openMPIName, pdshName, clushName, srunName)
		if f.provider == cluster.Docker {
			list = containerLaunchers()
		}
		if err := b.job(ctx, f, partRanks, list, task{b.most(full), ppn, trueProgram}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) job(ctx context.Context, f *field, part string, list []contender, t task) error {
	return b.hold(ctx, f, place{part, f.kex, t.nodes, t.ppn, filepath.Base(t.program[0])}, f.runners(list, t))
}

// The programs of the PMI part, by the gets of each rank after the fence.
const (
	twoGets = "two gets"
	allGets = "p gets"
)

// pmiJobs starts PMI clients that put one value and get two, or everyone's. The
// floor there is a server that answers from a constant, without a network.
func (b *bench) pmiJobs(ctx context.Context, f *field) error {
	t := task{nodes: b.most(full), ppn: b.pmiRanks()}
	for _, p := range []struct{ name, mode string }{{twoGets, "neighbour"}, {allGets, "all"}} {
		t.program = []string{filepath.Join(b.bin, "native", "pmiclient"), "-q", "-m", p.mode}
		list := append([]runner{{
			name: floorName,
			argv: append(append([]string{filepath.Join(b.bin, "native", "pmifloor"), strconv.Itoa(t.nodes), strconv.Itoa(t.ppn)}, t.program...), "-u"),
		}}, f.runners(named(golaunchName, hydraName, srunName), t)...)
		if err := b.hold(ctx, f, place{partPMI, f.kex, t.nodes, t.ppn, p.name}, list); err != nil {
			return err
		}
	}
	return nil
}

// pmiRanks returns 16, or less if that is not measured.
func (s settings) pmiRanks() int {
	ranks := s.ranks[0]
	for _, n := range s.ranks {
		if n <= 16 {
			ranks = n
		}
	}
	return ranks
}

// The entries of table 2.1 and figure 2.4 that are no launchers: a connection of
// its own for each rank, and connections that are made one after another.
const (
	perRankName = "per rank, x/crypto"
	opensshName = "per rank, OpenSSH"
	chainName   = "one by one"
)

// tableJobs measures table 2.1: an agent per node against a connection per rank.
func (b *bench) tableJobs(ctx context.Context, f *field) error {
	nodes := b.most(16)
	for _, c := range []int{1, 2, 4, 8, 16} {
		t := task{nodes, c, trueProgram}
		list := append(f.runners(named(golaunchName), t),
			runner{name: perRankName, argv: f.floorCommand(nodes, c, 1)},
			runner{name: opensshName, argv: []string{"xargs", "-a", f.repeated(nodes, c), "-P", strconv.Itoa(floorWindow), "-I{}", "ssh", "-n", "{}", "/bin/true"}})
		if err := b.hold(ctx, f, place{partTable, f.kex, nodes, c, "true"}, list); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns a file that names each node several times.
func (f *field) repeated(nodes, times int) string {
	var text strings.Builder
	for range times {
		for _, n := range f.Nodes()[:nodes] {
			text.WriteString(n.Name + "\n")
		}
	}
	return f.write(fmt.Sprintf("repeated-%d-%d", nodes, times), text.String())
}

// figureRanks are the ranks per node of figure 2.5.
var figureRanks = []int{1, 2, 4, 8}

// figureJobs measures figures 2.4 and 2.5: the phases of a program that starts up over
// PMI, and connections that are made one after another, as a ring is.
func (b *bench) figureJobs(ctx context.Context, f *field) error {
	program := []string{filepath.Join(b.bin, "native", "pmistart")}
	for nodes := 2; nodes <= b.most(full); nodes *= 2 {
		for _, ppn := range figureRanks {
			list := f.runners(named(golaunchName, hydraName, srunName), task{nodes, ppn, program})
			for i := range list {
				list[i].look = readStart
			}
			if ppn == 1 {
				list = append(list, runner{name: chainName, argv: f.windowed(1, nodes, 1, 1)})
			}
			if err := b.hold(ctx, f, place{partFigures, f.kex, nodes, ppn, "pmistart"}, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// readStart reads the output of pmistart: the begin of the last rank, and the end of
// the last, in seconds since 1970.
func readStart(out string, begun time.Time, r *reading) error {
	var last, end float64
	if _, err := fmt.Sscan(out, &last, &end); err != nil {
		return fmt.Errorf("pmistart printed %.60q: %w", out, err)
	}
	since := float64(begun.UnixNano()) / 1e9
	r.spawn = time.Duration((last - since) * float64(time.Second))
	r.init = time.Duration((end - last) * float64(time.Second))
	if r.spawn <= 0 || r.init < 0 {
		return fmt.Errorf("pmistart's times %q do not follow each other", strings.TrimSpace(out))
	}
	return nil
}

// step is a part and its function on a cluster.
type step struct {
	part string
	do   func(context.Context, *field) error
}

// on carries out those of some steps that are wanted, on a cluster that is made for them.
func (b *bench) on(ctx context.Context, config cluster.Config, steps ...step) error {
	steps = slices.DeleteFunc(steps, func(s step) bool { return !b.wants(s.part) })
	if len(steps) == 0 {
		return nil
	}
	return b.onField(ctx, config, func(f *field) error {
		if err := f.remember(); err != nil {
			return err
		}
		for _, s := range steps {
			b.tell("%s, key exchange %s", s.part, f.kex)
			err := s.do(ctx, f)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil { // the other parts may go well
				b.tell("%s: %v", s.part, err)
				b.book.stopped = append(b.book.stopped, fmt.Sprintf("the rest of part %s: %v", s.part, err))
			}
		}
		return b.save()
	})
}

// all runs every part that is wanted, each on a cluster that suits it.
func (b *bench) all(ctx context.Context) error {
	b.book.head = about(b.bin)
	largest := b.nodes[len(b.nodes)-1]
	switch b.provider {
	case allocated:
		job := step{partSlurm, b.allocationJobs}
		if err := b.on(ctx, cluster.Config{Nodes: largest, Kex: cluster.KexDefault, Slurm: true}, job); err != nil {
			return err
		}
		return b.on(ctx, cluster.Config{Nodes: largest, Kex: cluster.KexCurve25519, Slurm: true}, job)
	case cluster.Docker:
		b.book.head = aboutContainers(b.bin)
		containers := cluster.Config{Nodes: largest, Provider: cluster.Docker, Kex: cluster.KexDefault}
		if err := b.on(ctx, containers, step{partNodes, b.nodeJobs}, step{partRanks, b.rankJobs}, step{partExec, b.execJobs}); err != nil {
			return err
		}
		containers.Kex = cluster.KexCurve25519
		return b.on(ctx, containers, step{partNodes, b.nodeJobs}, step{partRanks, b.rankJobs})
	}
	return b.inNamespaces(ctx, largest)
}

// inNamespaces runs the parts whose nodes are namespaces, up to so many.
func (b *bench) inNamespaces(ctx context.Context, largest int) error {
	usual, quick := cluster.Config{Nodes: largest, Kex: cluster.KexDefault}, cluster.Config{Nodes: largest, Kex: cluster.KexCurve25519}
	slurm := cluster.Config{Nodes: largest, Kex: cluster.KexDefault, Slurm: true}
	refusing := cluster.Config{Nodes: b.most(128), Kex: cluster.KexDefault, MaxStartups: maxStartups}
	kex := step{partKex, b.kexJobs}
	if err := b.on(ctx, usual, step{partLocal, b.localJobs}, kex, step{partPhases, b.phaseJobs}, step{partMemory, b.memoryJobs}, step{partTable, b.tableJobs}); err != nil {
		return err
	}
	if err := b.on(ctx, slurm, step{partNodes, b.nodeJobs}, step{partRanks, b.rankJobs}, step{partPMI, b.pmiJobs}, step{partFigures, b.figureJobs}); err != nil {
		return err
	}
	if err := b.on(ctx, quick, step{partNodes, b.nodeJobs}, step{partRanks, b.rankJobs}, kex); err != nil {
		return err
	}
	if err := b.overOpenSSH10(ctx, kex); err != nil {
		return err
	}
	return b.on(ctx, refusing, step{partHard, b.hardJobs})
}
