package cache

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/plot"
)

// pattern is one of Sridhar's exchanges.
type pattern struct {
	name   string
	figure string // of [Sridhar]
	title  string
	peers  func(rank, ranks int) []int
	most   int // ranks beyond which it is left out
	shows  string
}

var patterns = []pattern{
	{"1to2", "3.3", "one put and two gets (both neighbours)", ring, 1 << 16, `
Sridhar has hcmab below a third of hcs on 64 × 8. So it is where the work on
messages rules: at 50 µs from 32 × 8 on, at 1 ms from 256 × 8 on. Where the hops
rule, the ratio goes to a half: hcs crosses the tree four times (fence up, fence
down, question, answer), hcmab twice. hcma, whose root answers few questions here,
is faster than hcmab where a hop costs little and the aggregate is long: every
link carries all of it. The parts of hcmab-lru's broadcast overtake it there.
`},
	{"1top", "3.4", "one put and p gets (everyone's value)", everyone, 1024, `
Sridhar has hcmab at about a tenth of hcs. In the model it is a twentieth at
1 ms and less at 5 ms. At 50 µs it is a third: 8 ranks of a node have 4,096 gets
of 12 µs answered there, whatever the policy, and that is nearly all of hcmab's
time; with one rank per node it is a tenth again. distributed takes a question and
an answer over several links for nearly every get.
`},
}

// degree is the degree of every tree of the model: --degree-rule auto's.
const degree = 8

// valueBytes is the length of a value: that of an address as MPI libraries put.
const valueBytes = 100

var hops = []time.Duration{50 * time.Microsecond, time.Millisecond, 5 * time.Millisecond}

// figures writes the tables and pictures of figures 3.3 and 3.4.
func figures(page *strings.Builder, s settings) error {
	for _, p := range patterns {
		fmt.Fprintf(page, "\n## Figure %s: %s\n\nMilliseconds until the last rank has its last value; in brackets, times hcmab's.\n\n", p.figure, p.title)
		fmt.Fprintf(page, "| hop | nodes × ranks |")
		for _, policy := range cache.Policies() {
			fmt.Fprintf(page, " %s |", policy)
		}
		fmt.Fprintf(page, " hcmab / hcs |\n|%s\n", strings.Repeat("---|", len(cache.Policies())+3))
		for _, hop := range hops {
			if err := s.figure(page, p, hop); err != nil {
				return err
			}
		}
		page.WriteString(p.shows)
		for _, hop := range hops {
			fmt.Fprintf(page, "\n![%s, %v per hop](%s)\n", p.title, hop, s.plotName(p.name, hop))
		}
	}
	return nil
}

func (s settings) plotName(name string, hop time.Duration) string {
	return fmt.Sprintf("plots/cache-%s-%s.svg", name, strings.NewReplacer("µ", "u", ".", "-").Replace(hop.String()))
}

func (s settings) figure(page *strings.Builder, p pattern, hop time.Duration) error {
	chart := plot.Chart{
		Title: fmt.Sprintf("%s, %v per hop", p.title, hop),
		X:     plot.Axis{Label: fmt.Sprintf("nodes, %d ranks each", s.ranks), Log: true},
		Y:     plot.Axis{Label: "time of the exchange (ms)", Log: true},
	}
	for _, policy := range cache.Policies() {
		chart.Series = append(chart.Series, plot.Series{Name: string(policy)})
	}
	for _, size := range s.sizes() {
		if size.nodes*size.ranks > p.most {
			continue
		}
		var took []float64
		for i, policy := range cache.Policies() {
			o, err := run(exchange{grow(size.nodes, degree, size.ranks), policy, cache.OneRound, valueBytes, p.peers}, at(hop))
			if err != nil {
				return err
			}
			took = append(took, ms(o.whole()))
			if size.ranks == s.ranks {
				chart.Series[i].Points = append(chart.Series[i].Points, plot.Point{X: float64(size.nodes), Y: ms(o.whole())})
			}
		}
		hcs, hcmab := took[slices.Index(cache.Policies(), cache.HCS)], took[slices.Index(cache.Policies(), cache.HCMAB)]
		fmt.Fprintf(page, "| %v | %d × %d |", hop, size.nodes, size.ranks)
		for i, t := range took {
			if cache.Policies()[i] == cache.HCMAB {
				fmt.Fprintf(page, " %s |", number(t))
			} else {
				fmt.Fprintf(page, " %s (%.2g) |", number(t), t/hcmab)
			}
		}
		fmt.Fprintf(page, " %.3f |\n", hcmab/hcs)
	}
	return chart.WriteFile(s.Beside(s.plotName(p.name, hop)))
}

// at returns the usual costs with a hop.
func at(hop time.Duration) costs {
	c := usual
	c.hop = hop
	return c
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// number renders milliseconds to three digits.
func number(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// budgets writes the times of hcmab-lru and distributed with less than a round.
func budgets(page *strings.Builder, s settings) error {
	fractions := []int{1, 2, 4, 8, 16, 32, 64}
	fmt.Fprintf(page, `
## hcmab-lru and distributed with budgets below one round

%d nodes × %d ranks. Time as a multiple of hcmab's, and which part of all gets
asked another node. One round is %s here.

| exchange | hop | policy |`, s.nodes, s.ranks, sizeOf(roundBytes(s.nodes*s.ranks, valueBytes)))
	for _, f := range fractions {
		fmt.Fprintf(page, " B = 1/%d |", f)
	}
	fmt.Fprintf(page, "\n|%s\n", strings.Repeat("---|", len(fractions)+3))
	for _, p := range patterns {
		chart := plot.Chart{
			Title: fmt.Sprintf("%s, %d × %d", p.title, s.nodes, s.ranks),
			X:     plot.Axis{Label: "budget (rounds)", Log: true},
			Y:     plot.Axis{Label: "time, times hcmab's", Log: true},
		}
		for _, hop := range hops {
			for _, policy := range []cache.Policy{cache.HCMABLRU, cache.Distributed} {
				line, err := s.budgetRow(page, p, hop, policy, fractions)
				if err != nil {
					return err
				}
				chart.Series = append(chart.Series, line)
			}
		}
		name := fmt.Sprintf("plots/cache-budget-%s.svg", p.name)
		if err := chart.WriteFile(s.Beside(name)); err != nil {
			return err
		}
		fmt.Fprintf(s.after, "\n![budgets, %s](%s)\n", p.title, name)
	}
	fmt.Fprint(page, `
With room for a round hcmab-lru is hcmab. Below, the part of a round that fits is
found, in whatever order ranks ask (package cache, lru.go). What the node's own
ranks have put stays down to 1/32 of a round, so that 1:2, where 7 of 8 neighbours
are on the node, keeps most of its hits.
`)
	page.WriteString(s.after.String())
	return nil
}

func (s settings) budgetRow(page *strings.Builder, p pattern, hop time.Duration, policy cache.Policy, fractions []int) (plot.Series, error) {
	x := exchange{grow(s.nodes, degree, s.ranks), cache.HCMAB, 0, valueBytes, p.peers}
	line := plot.Series{Name: fmt.Sprintf("%s, %v", policy, hop), Dashed: policy == cache.Distributed}
	best, err := run(x, at(hop))
	if err != nil {
		return line, err
	}
	size := s.nodes * s.ranks
	gets := size * len(p.peers(0, size))
	fmt.Fprintf(page, "| 1:%s | %v | %s |", strings.TrimPrefix(p.name, "1to"), hop, policy)
	x.policy = policy
	for _, f := range fractions {
		x.budget = roundBytes(size, valueBytes) / f
		o, err := run(x, at(hop))
		if err != nil {
			return line, err
		}
		times := float64(o.whole()) / float64(best.whole())
		fmt.Fprintf(page, " %.3g (%.0f %%) |", times, 100*float64(o.misses)/float64(gets))
		line.Points = append(line.Points, plot.Point{X: 1 / float64(f), Y: times})
	}
	fmt.Fprintln(page)
	return line, nil
}
