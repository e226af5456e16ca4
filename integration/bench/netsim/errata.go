package netsim

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// errata lists printed statements that do not hold.
func errata(page *strings.Builder) error {
	r, err := tree(tree1728)
	if err != nil {
		return err
	}
	holes, err := holed(r, routing.Shift(1584))
	if err != nil {
		return err
	}
	if r, err = tree(rlft1728); err != nil {
		return err
	}
	consistent, err := random(r, routing.Shift(1728))
	if err != nil {
		return err
	}
	if r, err = tree(tree144); err != nil {
		return err
	}
	c, err := routing.HotSpots(r, hosts(r, 126), routing.Shift(126), topology.Serial)
	if err != nil {
		return err
	}
	fmt.Fprintf(page, `
What is printed and does not hold:

- Table 3, 1584 ranks, Shift at random: 1.98. Tree order on 1584 hosts that are drawn at
  random has %v; random orders of 1584 hosts have the figure above.
- Table 3, parts of trees: they are contiguous here. Parts with hosts left out at random,
  which the text tells of, are not free of contention in tree order, as the line above says.
- Table 3, the tuples: they contradict each other (12 parents by two cables each are 24
  ports upward of a switch with 12). Here they are those of real-life fat trees, but with
  1728 hosts as printed: with %s it would be %v.
- Section 5, parts that are free of contention: a multiple of all w_l is not enough where
  cables are parallel. 126 of 144 hosts have mean degree %.2f, at most %d; package routing
  has the rule that holds (Unit).
- The sequences' upper limits, s ≤ ⌈log2 N⌉, are one too large.
- Equation 7 needs the digit masked to its level where m is no power of two.
`, holes, strings.TrimPrefix(rlft1728, "fattree:"), consistent, c.Mean(), c.Max())
	return nil
}

// figure3 writes the degrees of all sequences in random orders by size.
func figure3(page *strings.Builder) error {
	page.WriteString("\n### Figure 3: random orders, by sequence and size\n\n| sequence |")
	trees := []string{tree128, tree324, tree1728, tree1944}
	var routers []*routing.DModK
	for _, word := range trees {
		r, err := tree(word)
		if err != nil {
			return err
		}
		routers = append(routers, r)
		fmt.Fprintf(page, " %d |", r.Graph().Hosts())
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(trees)) + "\n")
	for _, sequence := range figure3Sequences {
		fmt.Fprintf(page, "| %s |", sequence(2).Name)
		for _, r := range routers {
			n := r.Graph().Hosts()
			m, err := random(r, sequence(n))
			if err != nil {
				return err
			}
			fmt.Fprintf(page, " %.2f |", m.of)
		}
		page.WriteString("\n")
	}
	page.WriteString(`
Sequences in which all ranks send have a degree that grows with the size; binomial trees
and tournaments, with few messages in most stages, stay below 2.
`)
	return nil
}

// figure3Sequences are those of figure 3, by their number of ranks.
var figure3Sequences = []func(int) routing.Sequence{
	routing.Binomial, routing.Tournament, routing.FoldedDoubling, routing.Dissemination, routing.Ring, routing.Shift,
}
