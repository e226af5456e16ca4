package startup

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// newBench is one that keeps its page beside the file for it until it is done: a run that
// is interrupted leaves the page of the last one alone.
func newBench(s settings) (*bench, error) {
	b := &bench{final: s.Out}
	if err := results.Done(s.Out); err != nil { // an earlier run may have left its own
		return nil, err
	}
	s.Out = results.Partial(s.Out)
	b.settings, b.book = s, newBook(s)
	return b, nil
}

// finish puts the page and its pictures in their place.
func (b *bench) finish() error {
	if b.final == "" {
		return results.Write("", b.book.page())
	}
	b.Out, b.book.settings.Out = b.final, b.final
	if err := b.save(); err != nil {
		return err
	}
	return results.Done(b.final)
}

// save writes the page of the results so far, and its pictures, to their files.
func (b *bench) save() error {
	b.book.took = time.Since(b.begun)
	if b.Out == "" {
		return nil
	}
	if err := b.book.plots(); err != nil {
		return err
	}
	return results.Write(b.Out, b.book.page())
}

// page renders docs/results/startup.md, startup-docker.md or startup-slurm.md.
func (b *book) page() string {
	p := &page{book: b, notes: map[string]int{}}
	switch b.settings.provider {
	case cluster.Docker:
		p.containers()
	case allocated:
		p.allocations()
	default:
		p.namespaces()
	}
	p.footnotes()
	return p.String()
}

// heading tells the command, the date and the machine.
func (p *page) heading(title string, needs ...string) {
	p.WriteString(p.settings.Head(title, needs...))
	fmt.Fprintf(p, `%s, %s: %s. It took %.0f minutes.

Contenders run in turn, up to %d times (no round begins after %v); figures are
medians, and ratios are medians over the pairs of runs. Wall time is from the start of the
command to its end.`, results.Today(), p.head[0], strings.Join(p.head[1:], "; "), p.took.Minutes(),
		p.settings.Runs, p.settings.budget)
}

// namespaces writes the page of provider netns.
func (p *page) namespaces() {
	p.heading("Start-up, measured", "build", "native")
	fmt.Fprintf(p, ` CPU is the processor time of everything on the cluster's
machines, launcher, sshds and ranks, by their cgroup (the whole machine's where there is no
cgroup v2), until all is quiet again.
Nodes are network namespaces with an sshd each, on this machine: all of it shares its
%d cores, so wall time is little more than CPU by that number, and what a tree does in
parallel on a cluster shows only as processor time here.

The floor is as many bare connections of the SSH library that golaunch uses, eight at a
time, on each of which a shell starts /bin/true as often as there are ranks. "Copied"
is golaunch that brings its agent to every host (--copy-agent); else the hosts have it
in the same place, as Hydra's and Open MPI's must. pdsh, clush and TakTuk start one command
per host; where that has several ranks, it is a shell's loop. srun's daemons run before
it starts and it makes no connection over ssh: that is another thing. Every launcher has named each
host as often as it has ranks before it is measured, in a run that does not count.

With -parts and the names in brackets below, a table is made alone.
`, runtime.NumCPU())
	p.claims()
	p.overSSH(cluster.KexDefault, "Nodes over SSH, OpenSSH's default key exchange",
		"sntrup761 between two OpenSSHs; golaunch's client and the floor have curve25519 at every sshd")
	p.overSSH(cluster.KexCurve25519, "Nodes over SSH, curve25519", "KexAlgorithms curve25519-sha256 at every sshd and every client")
	p.kex()
	p.pmi()
	p.local()
	p.phases()
	p.memory()
	p.hard()
	p.table()
	p.figures()
}

// containers writes the page of provider docker.
func (p *page) containers() {
	p.heading("Start-up in containers, measured", "build", "native", "image")
	fmt.Fprintf(p, ` It is taken in the container where the command runs. CPU is the
processor time of the whole machine until all is quiet again.
Nodes are containers with an sshd each, of Debian's packages, on this machine: all of them share its
%d cores.

The floor is as many bare connections of the SSH library that golaunch uses, eight at a
time, on each of which a shell starts /bin/true as often as there are ranks. "Copied"
is golaunch that brings its agent to every container (--copy-agent); else they have it in
the same place, as Hydra's and Open MPI's must. pdsh starts one command per container; where that
has several ranks, it is a shell's loop. Every launcher has named each container as often as it
has ranks before it is measured, in a run that does not count.
`, runtime.NumCPU())
	nodes := p.settings.most(full)
	fmt.Fprint(p, claimsHead)
	for _, ppn := range p.settings.ranks {
		c := p.at(place{partRanks, cluster.KexDefault, nodes, ppn, "true"})
		title := fmt.Sprintf("/bin/true, %d containers × %d over ssh: ", nodes, ppn)
		fmt.Fprintln(p, claim{title + "faster than Hydra", c.ratio(hydraName, golaunchName, wall), 3, true, " ×"})
		fmt.Fprintln(p, claim{title + "less CPU than Hydra", c.ratio(hydraName, golaunchName, cpu), 1, true, " ×"})
	}
	p.overSSH(cluster.KexDefault, "Containers over SSH, OpenSSH's default key exchange",
		"sntrup761 between two OpenSSHs; golaunch's client and the floor have curve25519 at every sshd")
	p.overSSH(cluster.KexCurve25519, "Containers over SSH, curve25519", "KexAlgorithms curve25519-sha256 at every sshd and every client")
	if contests := p.of(partExec, cluster.KexDefault); len(contests) > 0 {
		fmt.Fprint(p, `
## Containers over docker exec (exec)

golaunch runs beside the engine, not in a container: `+"`--bootstrap exec --exec-command 'docker exec -i {host} {command}'`"+`.
Beside it is docker exec itself, eight at a time, with a shell's loop in each container: no launcher
that has to call it can be faster.
`)
		p.threeTables(contests, shape, "containers × ranks")
	}
}

// page is a page in the making.
type page struct {
	strings.Builder
	*book
	notes map[string]int // their numbers
}

// cell renders a number, or a dash with a note that has the reason.
func (p *page) cell(v float64, digits int, e *entry) string {
	if !math.IsNaN(v) {
		return fmt.Sprintf("%.*f", digits, v)
	}
	if e == nil || e.failed == "" {
		return "–"
	}
	n, known := p.notes[e.name+": "+e.failed]
	if !known {
		n = len(p.notes) + 1
		p.notes[e.name+": "+e.failed] = n
	}
	return fmt.Sprintf("– [%d]", n)
}

// footnotes writes the reasons, in the order of their numbers.
func (p *page) footnotes() {
	if len(p.notes)+len(p.stopped) == 0 {
		return
	}
	texts := make([]string, len(p.notes))
	for text, n := range p.notes {
		texts[n-1] = text
	}
	fmt.Fprint(p, "\n## Not measured\n\n")
	for i, text := range texts {
		fmt.Fprintf(p, "%d. %s\n", i+1, strings.ReplaceAll(text, "\n", " "))
	}
	for _, text := range p.stopped {
		fmt.Fprintf(p, "\n**Failed**: %s\n", strings.ReplaceAll(text, "\n", " "))
	}
}

// matrix writes a table of contests by contenders; value makes a cell's number.
func (p *page) matrix(title string, contests []*contest, label func(*contest) string, first string, names []string, digits int, value func(*contest, string) float64) {
	fmt.Fprintf(p, "\n%s:\n\n| %s |", title, first)
	for _, name := range names {
		fmt.Fprintf(p, " %s |", name)
	}
	fmt.Fprintf(p, "\n|%s\n", strings.Repeat("---|", len(names)+1))
	for _, c := range contests {
		fmt.Fprintf(p, "| %s |", label(c))
		for _, name := range names {
			fmt.Fprintf(p, " %s |", p.cell(value(c, name), digits, c.entry(name)))
		}
		fmt.Fprintln(p)
	}
}

// contenders returns the names in contests, in order.
func contenders(contests []*contest) (names []string) {
	for _, c := range contests {
		for _, e := range c.entries {
			if !slices.Contains(names, e.name) {
				names = append(names, e.name)
			}
		}
	}
	return names
}

func without(names []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(some, n) })
}

func shape(c *contest) string { return fmt.Sprintf("%d × %d", c.nodes, c.ppn) }

// threeTables writes wall time, ratios and processor time of contests.
func (p *page) threeTables(contests []*contest, label func(*contest) string, first string) {
	names := contenders(contests)
	p.matrix("Wall time, ms", contests, label, first, names, 0, func(c *contest, n string) float64 { return c.median(n, wall) })
	p.matrix("Wall time by golaunch's (how many times golaunch is faster)", contests, label, first, without(names, golaunchName), 2,
		func(c *contest, n string) float64 { return c.ratio(n, golaunchName, wall) })
	p.matrix("CPU, s", contests, label, first, names, 2, func(c *contest, n string) float64 { return c.median(n, cpu) })
	p.matrix("CPU by golaunch's", contests, label, first, without(names, golaunchName), 2,
		func(c *contest, n string) float64 { return c.ratio(n, golaunchName, cpu) })
	var rounds []string
	for _, c := range contests {
		rounds = append(rounds, fmt.Sprint(c.rounds()))
	}
	fmt.Fprintf(p, "\nRounds, row by row: %s.\n", strings.Join(rounds, ", "))
}

// unit returns the page's word for nodes.
func (p *page) unit() string {
	if p.settings.provider == cluster.Docker {
		return "containers"
	}
	return "nodes"
}

func (p *page) overSSH(kex, title, setup string) {
	nodes, ranks := p.of(partNodes, kex), p.of(partRanks, kex)
	if len(nodes)+len(ranks) == 0 {
		return
	}
	fmt.Fprintf(p, "\n## %s (nodes)\n\n`/bin/true`; %s.\n", title, setup)
	if len(nodes) > 0 {
		p.threeTables(nodes, shape, p.unit()+" × ranks")
		fmt.Fprintf(p, "\n![wall time by nodes](%s)\n\n![CPU by nodes](%s)\n", p.plotName("nodes-"+kex), p.plotName("cpu-"+kex))
	}
	if len(ranks) > 0 {
		fmt.Fprintf(p, "\n### More ranks on each of them (ranks)\n")
		p.threeTables(ranks, shape, p.unit()+" × ranks")
		if len(ranks) > 1 {
			fmt.Fprintf(p, "\n![wall time by ranks per node](%s)\n", p.plotName("ranks-"+kex))
		}
	}
}

func (p *page) pmi() {
	contests := p.of(partPMI, cluster.KexDefault)
	if len(contests) == 0 {
		return
	}
	fmt.Fprintf(p, `
## PMI clients, start to finish (pmi)

native/programs/pmiclient.c puts one value, enters the fence and gets two values or everyone's, over
plain PMI-1; %s, default key exchange. The floor here is native/programs/pmifloor.c, a server that
answers every get from a constant, on this machine without any network. [pmi.md](pmi.md) has the
exchanges alone.
`, shape(contests[0]))
	p.threeTables(contests, func(c *contest) string { return c.program }, "after the fence")
}

func (p *page) local() {
	contests := p.of(partLocal, "")
	if len(contests) == 0 {
		return
	}
	fmt.Fprintf(p, `
## One machine (local)

`+"`golaunch -n N /bin/true`"+` and the same with others. The floor is native/programs/floor.c, which
makes the same processes and pipes as fast as it can. It and golaunch are run %d times at
least. Hydra runs once with %d ranks, and may take %v for that.
`, localRounds, claimedRanks, max(p.settings.limit, patience))
	label := func(c *contest) string { return fmt.Sprint(c.ppn) }
	p.threeTables(contests, label, "ranks")
	p.matrix("Microseconds for each rank", contests, label, "ranks", contenders(contests), 0,
		func(c *contest, n string) float64 { return c.median(n, wall) / float64(c.ppn) * 1000 })
	fmt.Fprintf(p, "\n![wall time by ranks](%s)\n", p.plotName("local"))
}
