package netsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/rooted"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// twoSwitches returns 4 hosts of one leaf switch and 29 of another, which a third joins
// by two cables each [Subramoni 3.2].
func twoSwitches() (routing.Router, error) {
	b, err := topology.NewBuilder(33, 3)
	if err != nil {
		return nil, err
	}
	for h := range 33 {
		leaf := min(h/4, 1)
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(h), Port: 1}, B: topology.End{Node: b.Switch(leaf), Port: int32(h + 1)}})
	}
	for i := range int32(4) {
		b.Cable(topology.Cable{A: topology.End{Node: b.Switch(int(i / 2)), Port: 100 + i}, B: topology.End{Node: b.Switch(2), Port: i + 1}})
	}
	g, err := b.Build()
	if err != nil {
		return nil, err
	}
	return routing.New(g, topology.Serial)
}

// on16And8 puts 16 ranks on each of the first 4 of 33 hosts and 8 on the others: those of
// a host follow each other, or the hosts take turns.
func on16And8(cyclic bool) []topology.Node {
	var order []topology.Node
	for round := range 16 {
		for h := range topology.Node(33) {
			if h < 4 || round < 8 {
				order = append(order, h)
			}
		}
	}
	if !cyclic {
		slices.Sort(order)
	}
	return order
}

// ddr is 2 GB/s; memory is taken for twice as fast.
var ddr = rooted.Model{Startup: [3]float64{rooted.Ranger[0], rooted.Ranger[1], rooted.Ranger[2]}, Byte: [3]float64{1 / 4e9, 1 / 2e9, 1 / 2e9}, Contention: 1}

func writeGather(page *strings.Builder, _ routing.ByDestination) error {
	r, err := twoSwitches()
	if err != nil {
		return err
	}
	fmt.Fprint(page, `
## Gather and scatter by rack

[Subramoni 3.2]: 296 processes, 64 on one leaf switch (16 on a host) and 232 on another (8 on a host), root 0.
Inter-switch are the messages between the two, and their bytes if each rank has N. "Model" is T_binomial (3.1.1) of what
the root receives, with t_s of table 1.1 for Ranger, t_w of 4 GB/s in a host and 2 GB/s (DDR) elsewhere, and no
contention; "least" is the lower bound of T_topo (3.1.2), with the product that its "/" has to be; "all" is the time of
the whole tree where a rank has one message at a time.

| order | algorithm | inter-switch | bytes | C1, C2, C3 | model, N = 1 kB | least | all | model, N = 64 kB | least | all |
|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, cyclic := range []bool{false, true} {
		n, err := netsim.New(r, on16And8(cyclic))
		if err != nil {
			return err
		}
		level := rooted.Levels(n)
		for _, a := range []struct {
			name string
			tree *rooted.Tree
		}{{"binomial", rooted.Binomial(n.Ranks(), 0)}, {"by rack", rooted.NewTree(rooted.Racks(n), 2)}} {
			all := rooted.Count(a.tree.Gather(1), level, nil)
			order := "block"
			if cyclic {
				order = "cyclic"
			}
			root := func(m netsim.Message) bool { return m.To == 0 }
			c := rooted.Count(a.tree.Gather(1), level, root).Messages
			fmt.Fprintf(page, "| %s | %s | %d | %d N | %d, %d, %d |", order, a.name, all.Messages[rooted.Across], all.Bytes[rooted.Across], c[0], c[1], c[2])
			for _, bytes := range []int64{1000, 64000} {
				s := a.tree.Gather(bytes)
				fmt.Fprintf(page, " %.3f ms | %.3f ms | %.3f ms |", 1e3*ddr.Time(rooted.Count(s, level, root)), 1e3*ddr.Least(2, 296*bytes), 1e3*rooted.Duration(s, func(m netsim.Message) float64 {
					l := level(m.From, m.To)
					return ddr.Startup[l] + ddr.Byte[l]*float64(m.Size)
				}))
			}
			fmt.Fprintln(page)
		}
	}
	fmt.Fprint(page, `
Scatter has the same messages the other way. The source measured gather up to 54 % faster and scatter 23 %, without
saying in which order its ranks were. In block order only messages are saved, in cyclic order bytes as well. The model
counts what the root does, and gains up to 17 %; but a rack's leader has to have all of its rack before it sends, so
that the whole takes longer by rack where there is no contention. What can be gained is what contention costs between
switches. The root is the leader of its rack here, so that the source's further step from a leader to the root is not
needed.
`)
	return nil
}

// traversals are the ways to put hosts into a tree.
var traversals = []struct {
	name  string
	order rooted.Order
}{{"depth first", rooted.DepthFirst}, {"breadth first", rooted.BreadthFirst}, {"largest first", rooted.LargestFirst}}

// broadcastTime returns that of a tree of ranks on hosts of their own, by table 1.1 and
// the rate of the slower host.
func broadcastTime(t *rooted.Tree, bytes int64, hops, slow rooted.Delay) float64 {
	return rooted.Duration(t.Broadcast(bytes), func(m netsim.Message) float64 {
		return rooted.Ranger.Of(int(hops(m.From, m.To))) + 8*float64(bytes)*slow(m.From, m.To)
	})
}

// shuffled returns the mean over 25 random orders behind a fixed root.
func shuffled(ranks, k int, time func(*rooted.Tree) float64) float64 {
	sum := 0.0
	for seed := range uint64(25) {
		order := make([]int32, ranks)
		for i := range order {
			order[i] = int32(i)
		}
		topology.Shuffle(order[1:], seed)
		sum += time(rooted.NewTree([][]int32{order}, k))
	}
	return sum / 25
}

// writeNear broadcasts on an allocation like those of Ranger.
func writeNear(page *strings.Builder, r routing.ByDestination) error {
	count, racks := topology.RangerJob(1023)
	alloc, err := topology.Sparse(r.Graph(), count, racks, false, 1)
	if err != nil {
		return err
	}
	n, err := netsim.New(r, alloc)
	if err != nil {
		return err
	}
	hops, err := rooted.Hops(n)
	if err != nil {
		return err
	}
	slow := func(_, _ int32) float64 { return 1 / 8e9 } // SDR
	fmt.Fprintf(page, `
## Broadcast

[Subramoni 4]: the hosts' leaders in a k-nomial tree, root 0; latencies are those of table 1.1 for Ranger, and a rank
sends one message at a time. On %d hosts below %d leaf switches, as many as a job of 512 to 1,023 processes had on
Ranger (table 4.1), all with SDR adapters (1 GB/s), times in µs:

| tree | bytes | hosts in their order | shuffled, mean of 25 | depth first | breadth first | largest first |
|---|---|---|---|---|---|---|
`, count, racks)
	for _, k := range []int{2, 4} {
		for _, bytes := range []int64{8, 1 << 20} {
			time := func(t *rooted.Tree) float64 { return 1e6 * broadcastTime(t, bytes, hops, slow) }
			all := make([]int32, n.Ranks())
			for i := range all {
				all[i] = int32(i)
			}
			fmt.Fprintf(page, "| %d-nomial | %d | %.2f | %.2f |", k, bytes, time(rooted.NewTree([][]int32{all}, k)), shuffled(n.Ranks(), k, time))
			for _, o := range traversals {
				trees, err := rooted.NewBroadcasts(n, k, o.order, rooted.Hops)
				if err != nil {
					return err
				}
				fmt.Fprintf(page, " %.2f |", time(trees.Tree(0)))
			}
			fmt.Fprintln(page)
		}
	}
	fmt.Fprint(page, `
The source measured up to 14 % at 1 MB. Without contention between messages, which is not in this measure, latencies are
all that near hosts can save, and they are nothing beside 1 MB.
`)
	return nil
}

// writeFast broadcasts where half of the hosts are slow.
func writeFast(page *strings.Builder, r routing.ByDestination) error {
	n, err := netsim.New(r, hostsOfLeaves(128, 20))
	if err != nil {
		return err
	}
	hops, err := rooted.Hops(n)
	if err != nil {
		return err
	}
	fmt.Fprint(page, `
Half of 128 hosts have DDR adapters (2 GB/s) and half SDR (1 GB/s); a binomial tree, 1 MiB and a fast root. In their
order the hosts are the fast ones and then the slow ones, or take turns:

| order of the hosts | in it | shuffled, mean of 25 | depth first | breadth first | largest first | gain of the last: over the order | over shuffled |
|---|---|---|---|---|---|---|---|
`)
	for _, c := range []struct {
		name string
		fast func(rank int32) bool
	}{{"halves", func(rank int32) bool { return rank < 64 }}, {"in turn", func(rank int32) bool { return rank%2 == 0 }}} {
		slow := func(from, to int32) float64 {
			if c.fast(from) && c.fast(to) {
				return 1 / 16e9
			}
			return 1 / 8e9
		}
		time := func(t *rooted.Tree) float64 { return 1e3 * broadcastTime(t, 1<<20, hops, slow) }
		given, mean := time(rooted.Binomial(n.Ranks(), 0)), shuffled(n.Ranks(), 2, time)
		fmt.Fprintf(page, "| %s | %.2f ms | %.2f ms |", c.name, given, mean)
		last := 0.0
		for _, o := range traversals {
			last = time(rooted.NewTree([][]int32{rooted.Place(n.Ranks(), 2, 0, o.order, slow)}, 2))
			fmt.Fprintf(page, " %.2f ms |", last)
		}
		fmt.Fprintf(page, " %.2f | %.2f |\n", given/last, mean/last)
	}
	fmt.Fprint(page, `
The source measured 1.7 to 2 times. No tree is faster than largest first: 64 fast hosts take six doublings, and then a
message has to go to a slow one, in all 8 times what a message among fast hosts takes. A binomial tree takes at most 14
times that in any order, so that 1.75 is the most that can be gained from a fast root, over the worst order. Plain depth
and breadth first, which the source has, gain less: they give fast hosts to leaves before all inner places have one.
`)
	return nil
}
