package netsim

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/collective"
)

// blueGene is the model of [Sack 3.5.6]: the startup of a message, and links of
// 375 MB/s.
var blueGene = collective.Model{Alpha: 206e-3 / 32767, Delta: 1 / 375e6}

// sackPage writes the tables of [Sack 3]. Networks are made once, as are costs.
type sackPage struct {
	*strings.Builder
	networks map[string]*netsim.Network
	costs    map[string][]collective.Cost
	err      error // the first
}

func (p *sackPage) say(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// table writes a table's head.
func (p *sackPage) table(columns ...string) {
	p.say("\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func (p *sackPage) row(cells ...any) {
	words := make([]string, len(cells))
	for i, c := range cells {
		if f, ok := c.(float64); ok {
			words[i] = figure(f)
		} else {
			words[i] = fmt.Sprint(c)
		}
	}
	p.say("| %s |\n", strings.Join(words, " | "))
}

// figure renders a number with as many digits as are of use.
func figure(f float64) string {
	if f >= 100 || f == float64(int64(f)) {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.3g", f)
}

func sizes(dims []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", "x")
}

func ranksOf(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func (p *sackPage) network(dims []int, wrap bool) *netsim.Network {
	key := fmt.Sprint(dims, wrap)
	if p.networks[key] == nil && p.err == nil {
		p.networks[key], p.err = collective.Torus(dims, wrap)
	}
	return p.networks[key]
}

// program makes an algorithm; the page fails if that is not possible.
func (p *sackPage) program(name string, j collective.Job) *collective.Program {
	if p.err != nil {
		return nil
	}
	var a collective.Algorithm
	if a, p.err = collective.Find(name); p.err != nil {
		return nil
	}
	var made *collective.Program
	made, p.err = a.Program(j)
	return made
}

// price returns the cost of each stage of an algorithm on a torus or mesh.
func (p *sackPage) price(name string, n int64, dims []int, wrap bool) []collective.Cost {
	key := fmt.Sprint(name, n, dims, wrap)
	if costs, ok := p.costs[key]; ok {
		return costs
	}
	network := p.network(dims, wrap)
	program := p.program(name, collective.Job{Ranks: ranksOf(dims), Bytes: n, Dims: dims})
	if p.err == nil {
		p.costs[key], p.err = collective.Price(program, network, true)
	}
	return p.costs[key]
}

// rate returns the bandwidth n(P-1)/t in MB/s [Sack 3.5], with δ of six ports where six
// are used.
func (p *sackPage) rate(way string, n int64, dims []int, wrap bool) float64 {
	c := collective.Total(p.price(way, n, dims, wrap))
	return float64(n) * float64(ranksOf(dims)-1) / modelOf(way).Time(c) / 1e6
}

// modelOf returns the model for an algorithm: links are 7 % slower where all six of a
// switch are used.
func modelOf(way string) collective.Model {
	m := blueGene
	if strings.HasSuffix(way, "/6-bucket") {
		m.Delta /= .93
	}
	return m
}

// closPrice returns the cost of each stage of an algorithm on a Clos network.
func (p *sackPage) closPrice(c collective.Clos, name string, ranks int, n int64) []collective.Cost {
	program := p.program(name, collective.Job{Ranks: ranks, Bytes: n})
	if p.err != nil {
		return nil
	}
	var costs []collective.Cost
	costs, p.err = c.Price(program)
	return costs
}
