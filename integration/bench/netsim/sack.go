package netsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/collective"
	"github.com/golaunch/golaunch/network/topology"
)

// collectives writes the part of the page with collectives on tori, meshes and Clos
// networks.
func collectives(page *strings.Builder) error {
	p := &sackPage{Builder: page, networks: map[string]*netsim.Network{}, costs: map[string][]collective.Cost{}}
	p.say(`
## Collectives on tori, meshes and Clos networks

What [Sack 3] has, by the model of [Sack 3.1]: a stage takes α for each message of the rank that has most, and δ for
each byte on the link that has most. n is the size of a rank's part. The links between hosts and switches of a torus do
not count. Every algorithm is a value that the tests of network/netsim/collective run on data; the figures are what the same
value puts on links.
`)
	for _, write := range []func(){
		p.schedule, p.congestion, p.restoring, p.uneven, p.plateaus, p.sixBuckets, p.hybrids, p.clos, p.meshAllreduces,
		p.meshLoads, p.irregular, p.figures,
	} {
		write()
	}
	return p.err
}

func (p *sackPage) schedule() {
	p.say("\n### The torus order on 8x8x8\n\nThe congestion is the source's in each stage [Sack 3.4.1].\n")
	p.table("stage", "S", "size, n", "congestion", "source")
	s := []int{8, 5, 2, 7, 4, 1, 6, 3, 0}
	source := []int{2, 2, 2, 2, 2, 2, 1, 1, 1}
	i := 0
	for _, c := range p.price("allgather/torus", 1, []int{8, 8, 8}, true) {
		if c.Restores {
			continue
		}
		p.row(i, s[i], 1<<i, c.Link/float64(int(1)<<i), source[i])
		i++
	}
}

var (
	cube      = []int{8, 8, 8}
	large     = []int{32, 32, 32}
	middle    = []int{8, 16, 32}
	partition = [][]int{cube, {8, 8, 16}, {8, 8, 32}, middle, {8, 32, 32}, {16, 32, 32}, large}
)

func (p *sackPage) congestion() {
	p.say(`
### Congestion of recursive doubling

Bytes on the busiest link, added up over stages, in n, without the stage that restores the order. The source counts 574
for the torus order on 8x8x8 (576 with 2 for the order, [Sack 3.5.6]), and its closed form for distance doubling,
n(1+p+p²)(5p²/24−1/3), is exactly 949 there. Its rounded forms are 667 (5/24 n P^(4/3)) and 597 (7/6 nP).
`)
	p.table("torus", "distance doubling", "distance halving", "torus order", "bytes that each rank gets")
	for _, dims := range [][]int{cube, {8, 8, 32}, middle, large} {
		row := []any{sizes(dims)}
		for _, way := range []string{"doubling", "halving", "torus"} {
			_, rest := collective.Split(p.price("allgather/"+way, 1, dims, true))
			row = append(row, rest.Link)
		}
		p.row(append(row, ranksOf(dims)-1)...)
	}
}

func (p *sackPage) restoring() {
	p.say(`
### The stage that restores the order

[Sack 3.4.1] found no congestion in it on any network, and charges a message's worth of each rank over the bisection,
nZ/4. In dimension order there is congestion. The table has the bytes on the busiest link in n, before an allgather and
after a reduce-scatter, where messages go the other way. For 6 buckets it is the stage that brings sections to their ranks.
`)
	p.table("torus", "halving, before", "after", "torus order, before", "after", "6 buckets, before", "after", "source's charge")
	for _, dims := range [][]int{cube, {8, 8, 32}, middle, large} {
		row := []any{sizes(dims)}
		for _, way := range []string{"halving", "torus", "6-bucket"} {
			for _, o := range []string{"allgather/", "reduce-scatter/"} {
				restores, _ := collective.Split(p.price(o+way, 6, dims, true))
				row = append(row, restores.Link/6)
			}
		}
		p.row(append(row, float64(slices.Max(dims))/4)...)
	}
}

func (p *sackPage) plateaus() {
	p.say(`
### Bandwidths that large messages reach

Allgather of 32 KiB from each rank in MB/s, n(P−1)/t, with α = 6.29 µs and δ = 1/(375 MB/s), divided by 0.93 for six
ports [Sack 3.5.6]. What restores the order is charged at its load on links. The source has two predictions for the torus
order on 8x8x8: 343 by a factor of 1.09 [Sack 3.5.2], and 332 by 10 α + 576 n δ [Sack 3.5.6]; the factor is 574/511 = 1.12.
Without congestion, and with one port, is what the model says that ignores links.
`)
	p.table("algorithm", "torus", "α", "nδ", "of these, to restore", "without congestion, MB/s", "MB/s", "source, measured", "ratio")
	for _, c := range []struct {
		way      string
		dims     []int
		measured float64
	}{
		{"bucket", cube, 375}, {"torus", cube, 333}, {"bucket", large, 375}, {"torus", large, 323},
		{"3-bucket", large, 1120}, {"6-bucket", large, 2075},
	} {
		const n = 32 << 10
		restores, rest := collective.Split(p.price("allgather/"+c.way, n, c.dims, true))
		rate := p.rate("allgather/"+c.way, n, c.dims, true)
		free := blueGene.Free(collective.Total(p.price("allgather/"+c.way, n, c.dims, true)))
		p.row(c.way, sizes(c.dims), restores.Messages+rest.Messages, (restores.Link+rest.Link)/n, restores.Link/n,
			n*float64(ranksOf(c.dims)-1)/free/1e6, rate, c.measured, fmt.Sprintf("%.3f", rate/c.measured))
	}
}

func (p *sackPage) sixBuckets() {
	const n = 6
	restores, rest := collective.Split(p.price("allgather/6-bucket", n, middle, true))
	round, _ := collective.Split(p.price("allgather/6-bucket", n-1, middle, true))
	p.say(`
### Six buckets on 8x16x32

The three stages of rings: %d α + (%.0f/6) n δ. The source has 327 α + (4591/6) n δ [Sack 3.5.6]: it adds 3 α + 8 n to
round messages up to a multiple of six, and 6 α + 8 n to bring sections to their ranks, both over the bisection:
%d + 9 = %d and %.0f + 96 = %.0f. Its term (446/6) is a slip for (496/6); its total is right. Counted message by message,
the sections cost %d α + %.3g n. Where n is no multiple of six, as at n = 5, both stages cost %d α + %.3g n.

Section 1203 of 8x8x8 is part 179 of the third bucket and begins at rank 410, as in [Sack 3.4.2]: 179 with its bits rotated
three to the left (the source says clockwise). The buckets are 0 and 1, 2 and 3, 4 and 5, where the source says 1 and 2
for the second pair and 2 and 3 for the third.
`, rest.Messages, rest.Link, rest.Messages, rest.Messages+9, rest.Link, rest.Link+96,
		restores.Messages, restores.Link/n, round.Messages, round.Link/(n-1))
}

func (p *sackPage) hybrids() {
	p.say(`
### The hybrid

Messages of the busiest rank [Sack 3.6.1], with 1 for restoring the order, as the source's 127 = 126 + 1 and 559 = 558 + 1
have it. The same count that gives its 217 for 32x32x32, 2 lg P + 6(p−1) + 1, gives 61 for 8x8x8, where it says 59.
`)
	p.table("torus", "6 buckets", "source", "hybrid", "source", "nδ of 6 buckets", "nδ of the hybrid")
	for _, c := range []struct {
		dims         []int
		six, hybrids int
	}{{cube, 127, 59}, {large, 559, 217}} {
		_, six := collective.Split(p.price("allgather/6-bucket", 6, c.dims, true))
		_, hybrid := collective.Split(p.price("allgather/hybrid", 6, c.dims, true))
		p.row(sizes(c.dims), six.Messages+1, c.six, hybrid.Messages+1, c.hybrids, six.Link/6, hybrid.Link/6)
	}
}

func (p *sackPage) uneven() {
	p.say(`
### Ranks that are no power of two

Allgather by recursive doubling on one switch. Messages that make up for missing partners are at most as many again
[Sack 3.4.1]. The source has them sent by the rank that had no partner; here they come, a stage later, from one that had
it, so that no rank stands in for several at a time.
`)
	p.table("ranks", "doubling, α", "nδ", "halving, α", "nδ", "of these, to restore")
	for _, ranks := range []int{512, 513, 768, 1000, 1023} {
		one := collective.Clos{Leaf: ranks, Mu: 1}
		doubling := collective.Total(p.closPrice(one, "allgather/doubling", ranks, 1))
		restores, rest := collective.Split(p.closPrice(one, "allgather/halving", ranks, 1))
		p.row(ranks, doubling.Messages, doubling.Link, restores.Messages+rest.Messages, restores.Link+rest.Link, restores.Link)
	}
}

func (p *sackPage) clos() {
	p.say(`
### A Clos network

1024 ranks, 16 at each switch, a quarter of the bandwidth upward, routes that foresee everything [Sack 3.3.1, 3.4.1]. The
binomial broadcast goes from the highest bit down; the ring's allreduce is that of [Sack 3.2.1].
`)
	p.table("operation", "α", "nδ", "of these, to restore", "source, nδ")
	for _, c := range []struct {
		name  string
		bytes int64
		text  string
	}{
		{"allgather/doubling", 1, "(T−1) + (P−T)/µ = 4047"},
		{"allgather/halving", 1, "(P/T−1)/µ + P−P/T = 1212, and 1/µ to restore"},
		{"allgather/bruck", 1, "–"},
		{"allgather/ring", 1, "P−1 = 1023"},
		{"broadcast/2-nomial", 1 << 10, "lg P = 10"},
		{"allreduce/ring", 1 << 10, "2; exactly 2(P−1)/P"},
	} {
		restores, rest := collective.Split(p.closPrice(collective.Clos{Leaf: 16, Mu: .25}, c.name, 1024, c.bytes))
		n := float64(c.bytes)
		p.row(c.name, restores.Messages+rest.Messages, (restores.Link+rest.Link)/n, restores.Link/n, c.text)
	}
}

func (p *sackPage) meshAllreduces() {
	p.say(`
### Allreduce and broadcast on a mesh of 16x16

[Sack 3.2.1]. The figures of the exchange and of recursive halving are met where the ranks of a line do not all exchange in
one dimension at a time: half of them, by the parity of their coordinates, have the other dimension first. The buckets'
2 P/(P−1) is a slip for 2 (P−1)/P.
`)
	p.table("algorithm", "α", "source", "nδ", "source")
	const n = 1 << 16
	for _, c := range []struct {
		name, alpha, delta string
	}{
		{"broadcast/2-nomial", "lg P = 8", "lg P = 8"},
		{"allreduce/fan", "2 lg P = 16", "2 lg P = 16"},
		{"allreduce/exchange", "lg P = 8", "–"},
		{"allreduce/mesh-exchange", "lg P = 8", "√P = 16"},
		{"allreduce/mesh", "2 lg P = 16", "9/4 − 3/(2√P) = 2.16"},
		{"allreduce/bucket", "4(√P−1) = 60", "2 P/(P−1) = 2.01"},
	} {
		total := collective.Total(p.price(c.name, n, []int{16, 16}, false))
		p.row(c.name, total.Messages, c.alpha, total.Link/n, c.delta)
	}
}

func (p *sackPage) meshLoads() {
	p.say(`
### Buckets on a mesh

Bytes on the busiest link in n, without what restores the order. On a mesh a ring goes back over the line that it came:
three buckets load each link once, six load it twice, and so gain nothing [Sack 3.4.2, 3.5.3].
`)
	p.table("8x8x8", "3 buckets", "6 buckets")
	for _, wrap := range []bool{true, false} {
		_, three := collective.Split(p.price("allgather/3-bucket", 6, cube, wrap))
		_, six := collective.Split(p.price("allgather/6-bucket", 6, cube, wrap))
		p.row(map[bool]string{true: "torus", false: "mesh"}[wrap], three.Link/6, six.Link/6)
	}
}

// irregular prices recursive doubling among a random half of a torus.
func (p *sackPage) irregular() {
	p.say(`
### Irregular partitions

Recursive doubling among half of the switches of 8x8x8, drawn at random (seed 1): along the path to and fro, in the order
of the switches' numbers, and on three paths at once [Sack 3.4.3]. A mesh has no three Hamiltonian paths without a common
edge in general, so that these are three to and fro that begin in different dimensions; messages are routed in dimension
order and not along the paths.
`)
	half := make([]topology.Node, ranksOf(cube))
	for i := range half {
		half[i] = topology.Node(i)
	}
	topology.Shuffle(half, 1)
	half = half[:len(half)/2]
	slices.Sort(half)
	members := make([]int32, len(half))
	for i, x := range half {
		members[i] = int32(x)
	}
	torus := p.network(cube, true)
	if p.err != nil {
		return
	}
	network, err := netsim.New(torus.Router(), half)
	if err != nil {
		p.err = err
		return
	}
	p.table("algorithm", "half: α", "nδ", "all: α", "nδ")
	for _, name := range []string{"allgather/doubling", "allgather/halving", "allgather/path", "allgather/3-path"} {
		j := collective.Job{Ranks: len(half), Bytes: 6, Dims: cube}
		if strings.HasSuffix(name, "path") {
			j.Members = members
		}
		program := p.program(name, j)
		if p.err != nil {
			return
		}
		costs, err := collective.Price(program, network, true)
		if err != nil {
			p.err = err
			return
		}
		part, whole := collective.Total(costs), collective.Total(p.price(name, 6, cube, true))
		p.row(name, part.Messages, part.Link/6, whole.Messages, whole.Link/6)
	}
}
