// Package cache runs the cache policies where no machine is in the way: in
// an event model with stated delays, and as large trees of boards in one
// process. It writes docs/results/cache-model.md with its tables and pictures,
// which show figures 3.3 and 3.4 and table 3.1 of [Sridhar].
//
// Nothing in it is measured but the memory that boards say they hold: it gives
// the same figures on any machine, busy or not.
package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings say what is computed.
type settings struct {
	results.Frame
	nodes  int // of the curves over budgets
	ranks  int // per node, of figures and curves
	most   int // nodes of the figures
	table  []int
	growth int // ranks of the picture of memory
	trees  []treeSize
	after  *strings.Builder
}

type treeSize struct {
	nodes, ranks int
	share        bool
}

type size struct{ nodes, ranks int }

// sizes returns those of the figures: powers of two of nodes, and 64 nodes with one
// rank each, where every neighbour is on another node.
func (s settings) sizes() []size {
	var list []size
	for n := 8; n <= s.most; n *= 2 {
		list = append(list, size{n, s.ranks})
	}
	return append(list, size{64, 1})
}

// rounds returns the numbers n of table 3.1.
func (s settings) rounds(p int) []int {
	if p > 16384 {
		return []int{1, 2, 4} // more would not fit this machine under hcmab
	}
	return []int{1, 2, 4, 8, 16}
}

// Run runs the model and writes its page.
func Run(_ context.Context, f *results.Flags) error {
	s := settings{
		nodes: 64, ranks: 8, most: 512, growth: 4096,
		table: []int{64, 256, 1024, 4096, 16384, 65536},
		trees: []treeSize{{1024, 16, false}, {4096, 16, true}},
		after: new(strings.Builder),
	}
	f.Out = "docs/results/cache-model.md"
	quick := f.Bool("quick", false, "small sizes, for a look")
	if err := f.Parse(); err != nil {
		return err
	}
	s.Frame = f.Frame
	if *quick {
		s.nodes, s.most, s.growth, s.table = 8, 16, 256, []int{64, 256}
		s.trees = []treeSize{{64, 4, false}, {128, 4, true}}
	}
	var page strings.Builder
	preamble(&page, s)
	for _, part := range []func(*strings.Builder, settings) error{counts, figures, budgets, table31, trees} {
		if err := part(&page, s); err != nil {
			return err
		}
	}
	return s.Write(page.String())
}

func preamble(page *strings.Builder, s settings) {
	page.WriteString(s.Head("The node caches in a model"))
	fmt.Fprintf(page, `Figures 3.3 and 3.4 and table 3.1 of [Sridhar], from the policies' own state
machines (package cache) in a discrete-event model. Every figure is the same on
every machine. It takes some minutes and 6 GB of memory.

The model: an agent does one thing at a time, in the order in which things
come; every client has a core of its own. An agent takes %v for a put, get or fence with
its reply, %v for a message that it gets, %v for one that it sends and %v for a
reply that had to wait; a client takes %v between a reply and its next request. A
message takes the hop from the end of its sending on, and %v per byte before, for
which its sender's network is busy (8 Gbit/s). Messages to homes are passed on by
the agents of the tree. Trees have degree %d.
`, usual.request, usual.receive, usual.send, usual.reply, usual.think, usual.byte, degree)
}

// counts writes the messages of one round, which docs/pmi.md derives.
func counts(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## Messages of one round, %d × %d

One put by each rank and the fence; docs/pmi.md derives the numbers.

| policy | messages | received by the root | bytes received by the root | gets 1:2: messages | gets 1:p: messages |
|---|---|---|---|---|---|
`, s.nodes, s.ranks)
	for _, policy := range cache.Policies() {
		f := &forest{shape: grow(s.nodes, degree, s.ranks), policy: policy, budget: cache.OneRound, value: valueBytes}
		if err := f.plant(); err != nil {
			return err
		}
		if err := f.puts(0); err != nil {
			return err
		}
		sent, root := f.sent(), f.boards[0].Stats()
		if err := f.gets(0, ring); err != nil {
			return err
		}
		two := f.sent() - sent
		g := &forest{shape: f.shape, policy: policy, budget: f.budget, value: valueBytes}
		if err := errors.Join(g.plant(), g.puts(0), g.gets(0, everyone)); err != nil {
			return err
		}
		fmt.Fprintf(page, "| %s | %d | %d | %d | %d | %d |\n", policy, sent, root.Received, root.ReceivedBytes, two, g.sent()-sent)
	}
	return nil
}
