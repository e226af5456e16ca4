package netsim

import (
	"fmt"

	"github.com/golaunch/golaunch/network/netsim/collective"
)

// figures writes the curves of the source's figures as tables.
func (p *sackPage) figures() {
	all := []string{"ring", "doubling", "halving", "torus", "bucket", "3-bucket", "6-bucket"}
	multi := all[4:]
	bytes := []int64{64, 512, 4 << 10, 32 << 10, 128 << 10}
	p.bySize("Figures 3.3 and 3.5", "allgather", all, cube, bytes)
	p.bySize("Figures 3.3 and 3.5", "allgather", all, large, bytes[:4])
	p.bySize("Figure 3.10", "reduce-scatter", all, cube, bytes)
	p.bySize("Figure 3.10", "reduce-scatter", all, large, bytes[:4])
	p.byRanks("Figures 3.4, 3.6 and 3.14 to 3.16", "allgather", all, partition, true)
	p.byRanks("Figure 3.11", "reduce-scatter", []string{"doubling", "halving", "torus", "bucket", "6-bucket"}, partition, true)
	meshes := [][]int{{4, 2, 2}, {4, 4, 4}, {8, 8, 4}, {8, 8, 8}, {16, 16, 8}, {16, 16, 16}}
	p.byRanks("Figure 3.9", "allgather", multi, meshes, false)
	p.byRanks("Figure 3.12", "reduce-scatter", multi, meshes, false)
	p.overhead()
	p.broadcasts()
}

func cells(first string, rest []string) []string { return append([]string{first}, rest...) }

func (p *sackPage) bySize(figures, operation string, ways []string, dims []int, bytes []int64) {
	p.say("\n### %s: %s on %s\n\nMB/s by bytes of a rank's part.\n", figures, operation, sizes(dims))
	p.table(cells("bytes", ways)...)
	for _, n := range bytes {
		row := []any{n}
		for _, w := range ways {
			row = append(row, p.rate(operation+"/"+w, n, dims, true))
		}
		p.row(row...)
	}
}

func (p *sackPage) byRanks(figures, operation string, ways []string, shapes [][]int, wrap bool) {
	p.say("\n### %s: %s on %s\n\nMB/s by ranks, for parts of 64 bytes and of 32 KiB.\n", figures, operation,
		map[bool]string{true: "tori", false: "meshes"}[wrap])
	p.table(cells("bytes", cells("ranks", ways))...)
	for _, n := range []int64{64, 32 << 10} {
		for _, dims := range shapes {
			row := []any{n, fmt.Sprintf("%d (%s)", ranksOf(dims), sizes(dims))}
			for _, w := range ways {
				row = append(row, p.rate(operation+"/"+w, n, dims, wrap))
			}
			p.row(row...)
		}
	}
}

// overhead writes the share of time in the stages that restore the order.
func (p *sackPage) overhead() {
	p.say(`
### Figure 3.7: what restoring the order takes

Percent of the time of an allgather. The source measured at most 2.3 for the torus order and 7 for six buckets on 512
ranks, and at most 2.6 on 32768. The model exceeds this only for the torus order with small parts on 512 ranks, where one
of ten messages is the one that restores the order.
`)
	p.table("bytes", "torus order, 8x8x8", "6 buckets, 8x8x8", "torus order, 32x32x32", "6 buckets, 32x32x32")
	for _, n := range []int64{64, 4 << 10, 32 << 10} {
		row := []any{n}
		for _, dims := range [][]int{cube, large} {
			for _, way := range []string{"allgather/torus", "allgather/6-bucket"} {
				costs := p.price(way, n, dims, true)
				restores, _ := collective.Split(costs)
				m := modelOf(way)
				row = append(row, 100*m.Time(restores)/m.Time(collective.Total(costs)))
			}
		}
		p.row(row...)
	}
}

// broadcasts writes Van de Geijn's with each way to gather.
func (p *sackPage) broadcasts() {
	ways := []string{"doubling", "halving", "torus", "bucket", "6-bucket"}
	p.say(`
### Figure 3.13: broadcast

MB/s by bytes of the vector, binomial scatter and then an allgather. The scatter takes a time of its own that is about the
vector's size by the bandwidth of one link; the source's scatter is the machine's own.
`)
	p.table(cells("torus", cells("bytes", ways))...)
	for _, dims := range [][]int{cube, large} {
		for _, n := range []int64{1 << 20, 16 << 20, 128 << 20} {
			row := []any{sizes(dims), n}
			for _, w := range ways {
				name := "broadcast/" + w
				row = append(row, float64(n)/1e6/modelOf(name).Time(collective.Total(p.price(name, n, dims, true))))
			}
			p.row(row...)
		}
	}
}
