package uplink

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// network is the cluster's, in the form of Slurm's topology.conf.
const network = "SwitchName=s1 Nodes=n[001-004]\nSwitchName=s2 Nodes=n[005-008]\nSwitchName=s0 Switches=s[1-2]\n"

// listed are the hosts, alternately from both switches.
const listed = "n001,n005,n002,n006,n003,n007,n004,n008"

// setting is one kind of job.
type setting struct{ each, degree int } // ranks on a host; degree of the tree

func settings() []setting { return []setting{{1, 8}, {1, 2}, {4, 8}} }

// name returns the name of readings of an operation.
func (s setting) name(o operation, network bool) string {
	return fmt.Sprintf("%s of %d bytes, %d ranks on a host, degree %d, network %t", o.name, o.size, s.each, s.degree, network)
}

// tree runs all operations once in each setting, without the network and with it. The
// readings are of one round of each.
func (b *bench) tree(ctx context.Context) (all []reading, err error) {
	conf := filepath.Join(b.dir, "topology.conf")
	if err := os.WriteFile(conf, []byte(network), 0o644); err != nil {
		return nil, err
	}
	list := operations()
	for _, s := range settings() {
		for _, topology := range []string{"none", conf} {
			more, err := b.job(ctx, len(list), "-H", listed, "-N", strconv.Itoa(s.each), "-n", strconv.Itoa(shape.Nodes*s.each),
				"--degree", strconv.Itoa(s.degree), "--topology", topology, "--timeout", "120", b.program, "uplink", rankWord)
			if err != nil {
				return nil, fmt.Errorf("%d ranks on a host, degree %d, --topology %s: %w", s.each, s.degree, topology, err)
			}
			for i, o := range list {
				more[i].name = s.name(o, topology == conf)
				more[i].bytes /= float64(o.rounds)
			}
			all = append(all, more...)
		}
	}
	return all, nil
}

// treePage renders the results.
func treePage(f results.Frame, all []reading) string {
	var b strings.Builder
	b.WriteString(f.Head("The tree over two switches", "build", "native"))
	fmt.Fprintf(&b, `Eight hosts of a test cluster, four on each of two leaf switches; their links carry
%d Mbit/s, those between leaf and core switch %d Mbit/s, each way. Hosts are listed
alternately from both switches. Operations of the tree's service, from rank 0 or to it;
the size is that of the whole in a broadcast, of a rank's part in a gather, of what a rank
has for each other in an all-to-all. Bytes are what leaf switches send to the core for one
operation, by the counters of their interfaces, with all headers; times are those of the
slowest rank. Medians of %d runs, with and without --topology in turn.

| operation | size | ranks on a host | degree | kB without | kB with | | ms without | ms with | |
|---|---|---|---|---|---|---|---|---|---|
`, shape.Edge/1e6, shape.Uplink/1e6, f.Runs)
	for _, o := range operations() {
		for _, s := range settings() {
			kb := func(network bool) float64 {
				return median(all, s.name(o, network), func(r reading) float64 { return r.bytes / 1e3 })
			}
			ms := func(network bool) float64 {
				return median(all, s.name(o, network), func(r reading) float64 { return r.seconds * 1e3 })
			}
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f | %.1f | %s | %.2f | %.2f | %s |\n", o.name, o.size, s.each, s.degree,
				kb(false), kb(true), change(kb(false), kb(true)), ms(false), ms(true), change(ms(false), ms(true)))
		}
	}
	b.WriteString(`
Without a network the tree of degree 8 is a star, four of whose edges cross the core; with
it one edge does, and the tree is a level deeper. A gather brings the parts of four hosts
over the core in any tree, so a star has nothing to save there but headers. Short
operations differ by no more than the machine's own noise: all nodes share its processors,
and its links delay nothing.
`)
	return b.String()
}
