package scale

import (
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/plot"
)

// Of the machines that [Sridhar] measured on.
const (
	thesisCores = 8 // dual quad-core, figures 2.4 to 2.6
	rangerRanks = 16
)

// thesis holds golaunch against the ways that [Sridhar] compares.
func thesis(page *strings.Builder, s settings) error {
	c := s.Costs.at(hops[0])
	fmt.Fprintf(page, `
## Figures 2.4 to 2.6 of [Sridhar]

Seconds with this machine's costs, %s per hop, nodes of %d processors. Spawn: until all ranks
run; init: the exchange of %d bytes each with two gets. "Ring" is one of daemons, like MPD: they are
started one after the other (figure 2.4), what is to be started goes round it, and so does
every value that somebody else has put; its messages cost what golaunch's do. "Per rank" is an ssh
command for each rank, as MVAPICH's launcher had, to which the ranks connect.

| nodes × ranks | ring: boot | spawn | init | per rank: spawn | init | golaunch: spawn | init |
|---|---|---|---|---|---|---|---|
`, hopName(c.Hop), thesisCores, exchangeBytes)
	b := newBatch()
	type row struct {
		nodes, ranks int
		own          *outcome
	}
	var rows []row
	for _, nodes := range []int{2, 4, 8, 16, 32, 64} {
		for _, ranks := range []int{1, 2, 4, 8} {
			rows = append(rows, row{nodes, ranks, golaunch(b, nodes, ranks, thesisCores, c)})
		}
	}
	if err := b.wait(); err != nil {
		return err
	}
	for _, r := range rows {
		mpd, ssh := ring(r.nodes, r.ranks, c), perRank(r.nodes, r.ranks, thesisCores, c)
		fmt.Fprintf(page, "| %d × %d | %s | %s | %s | %s | %s | %s | %s |\n", r.nodes, r.ranks, seconds(mpd.boot), seconds(mpd.spawn), seconds(mpd.init),
			seconds(ssh.spawn), seconds(ssh.init), seconds(r.own.started), seconds(r.own.settled-r.own.started))
	}
	fmt.Fprint(page, `
Sridhar has, for 64 × 8: MVAPICH2 over MPD 6.7 and 2.5, ScELA 0.5 and 0.7 (figure
2.5); MVAPICH 3.6 and 4.3, ScELA 0.6 and 0.3 (figure 2.6).
`)
	return ranger(page, s, c)
}

// golaunch adds a job of golaunch's to a batch.
func golaunch(b *batch, nodes, ranks, cpus int, c costs) *outcome {
	k, err := degreeOf(nodes)
	if err != nil {
		k = 1 // the plan of so few hosts has no error
	}
	return b.add(setup{nodes: nodes, ranks: ranks, shape: ranges(k), exchange: exchangeBytes, cpus: cpus}, c)
}

// ranger is figure 2.7.
func ranger(page *strings.Builder, s settings, c costs) error {
	fmt.Fprintf(page, `
## Figure 2.7: a hello world at 1K to 32K cores

Seconds for start and exchange, %d ranks per node. Sridhar has, on Ranger with 10,240 cores, 185 for
an ssh per rank, which goes no further, and 25 for ScELA, which goes to 32K.

| cores | per rank | golaunch | per rank / golaunch |
|---|---|---|---|
`, rangerRanks)
	chart := plot.Chart{
		Title: "hello world, start and exchange", X: plot.Axis{Label: "cores", Log: true}, Y: plot.Axis{Label: "time (s)", Log: true},
		Series: []plot.Series{
			{Name: "golaunch"}, {Name: "ssh per rank", Dashed: true},
			{Name: "ScELA, thesis", Points: []plot.Point{{X: 10240, Y: 25}}}, {Name: "MVAPICH, thesis", Points: []plot.Point{{X: 10240, Y: 185}}},
		},
	}
	b := newBatch()
	var all []*outcome
	var cores []int
	for n := 1024; n <= 32768; n *= 2 {
		if n == 16384 {
			cores, all = append(cores, 10240), append(all, golaunch(b, 10240/rangerRanks, rangerRanks, rangerRanks, c))
		}
		cores, all = append(cores, n), append(all, golaunch(b, n/rangerRanks, rangerRanks, rangerRanks, c))
	}
	if err := b.wait(); err != nil {
		return err
	}
	for i, n := range cores {
		ssh, own := perRank(n/rangerRanks, rangerRanks, rangerRanks, c).whole(), all[i].settled
		fmt.Fprintf(page, "| %d | %s | %s | %.0f |\n", n, seconds(ssh), seconds(own), ratio(ssh, own))
		chart.Series[0].Points = append(chart.Series[0].Points, point2(n, own))
		chart.Series[1].Points = append(chart.Series[1].Points, point2(n, ssh))
	}
	fmt.Fprint(page, "\n![hello world at 1K to 32K cores](plots/scale-ranger.svg)\n")
	return chart.WriteFile(s.Beside("plots/scale-ranger.svg"))
}

func point2(n int, t time.Duration) plot.Point { return plot.Point{X: float64(n), Y: t.Seconds()} }
