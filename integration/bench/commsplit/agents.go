package commsplit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// agents is a tree of agents within this process, without processes and links: their
// work costs processor time, and their words are counted.
type agents struct {
	nodes  []*agent
	ranks  []*member.Session
	queue  []func() // messages on their way, in order
	frames int      // that crossed a link
	bytes  int
}

type agent struct {
	*collective.Node
	up, slot int
	children []int
	spent    time.Duration
}

// newAgents grows a tree with each ranks on every node.
func newAgents(nodes, each, degree int) (*agents, error) {
	a := &agents{}
	below := make([][]job.HostIndex, 0, nodes) // hosts, by node
	var grow func(list []job.HostIndex, up, slot int)
	grow = func(list []job.HostIndex, up, slot int) {
		n := &agent{up: up, slot: slot}
		index := len(a.nodes)
		a.nodes, below = append(a.nodes, n), append(below, list)
		for i, part := range tree.Split(list[1:], degree) {
			n.children = append(n.children, len(a.nodes))
			grow(part, index, i)
		}
	}
	all := make([]job.HostIndex, nodes)
	for i := range all {
		all[i] = job.HostIndex(i)
	}
	grow(all, -1, 0)
	for i, n := range a.nodes {
		at := slices.Repeat([]collective.Direction{collective.Up}, nodes)
		at[i] = collective.Local
		for slot, child := range n.children {
			for _, h := range below[child] {
				at[h] = collective.Direction(slot)
			}
		}
		var hops []collective.Run
		for _, hop := range at {
			hops = append(hops, collective.Run{Count: each, Direction: hop})
		}
		for _, hop := range at {
			hops = append(hops, collective.Run{Count: 1, Direction: hop})
		}
		var err error
		n.Node, err = collective.New(collective.Config{Ranks: nodes * each, Directions: hops, Node: func(rank int) int { return rank / each },
			Children: len(n.children), Root: n.up < 0})
		if err != nil {
			return nil, err
		}
	}
	for rank := range nodes * each {
		a.ranks = append(a.ranks, member.New(rank, nodes*each, rank/each, nodes))
	}
	return a, nil
}

// act has an agent do something, and carries out its effects.
func (a *agents) act(n *agent, do func()) {
	var out collective.Effects
	n.spent += timed(func() {
		do()
		n.Flush(&out)
	})
	for _, f := range out.Frames {
		a.frames++
		a.bytes += len(f.Bytes)
		to, from := n.up, collective.Direction(n.slot)
		if f.To != collective.Up {
			to, from = n.children[f.To], collective.Up
		}
		a.queue = append(a.queue, func() { a.act(a.nodes[to], func() { a.nodes[to].Receive(from, f.Bytes) }) })
	}
	for _, d := range out.Deliveries {
		a.queue = append(a.queue, func() {
			if err := a.ranks[d.Endpoint].Receive(d.Bytes); err != nil {
				panic(err) // the agents and the library are of one version
			}
			a.act(n, func() { n.Wrote(d.Endpoint, len(d.Bytes)) })
			a.say(d.Endpoint)
		})
	}
	for _, f := range out.Faults {
		panic(f.Err)
	}
}

// say passes on the records of a rank.
func (a *agents) say(rank int) {
	n := a.nodes[a.ranks[rank].Node()]
	for b := a.ranks[rank].Take(); len(b) > 0; {
		raw, rest, err := record.Frame(b)
		if err != nil {
			panic(err)
		}
		b = rest
		a.queue = append(a.queue, func() { a.act(n, func() { n.Request(rank, raw) }) })
	}
}

// settle goes on until nothing is on its way.
func (a *agents) settle() {
	for len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		next()
	}
}

// reset forgets the counts, and returns them.
func (a *agents) reset() (total, most time.Duration, frames, bytes int) {
	for _, n := range a.nodes {
		total += n.spent
		most = max(most, n.spent)
		n.spent = 0
	}
	frames, bytes = a.frames, a.bytes
	a.frames, a.bytes = 0, 0
	return total, most, frames, bytes
}

// split splits the world into one communicator, with keys in any order.
func (a *agents) split(salt uint64) ([]*member.Comm, error) {
	requests := make([]*member.Request, len(a.ranks))
	for i, r := range a.ranks {
		requests[i] = r.World().Split(0, int(int32(random(salt+uint64(i)))))
		a.say(i)
	}
	a.settle()
	comms := make([]*member.Comm, len(a.ranks))
	for i, q := range requests {
		done, err := q.Done()
		if !done || err != nil {
			return nil, errors.Join(err, fmt.Errorf("rank %d: a split that did not end well", i))
		}
		comms[i] = q.Made()
	}
	return comms, nil
}

// agentTable prints the costs of splits and look-ups for the agents.
func agentTable(page *strings.Builder, runs int) error {
	fmt.Fprintf(page, `
## What agents do

Trees of agents in one process, %d ranks each, degree 8, no links: processor time of the agents'
part (medians), and what crosses links. A look-up is of a member on another node, in a
communicator of all ranks, asked of its home; then again, from the agent's memory.

| nodes | ranks | split: busiest agent | all agents | frames | MB | look-up asked, all agents | frames | bytes | remembered |
|---|---|---|---|---|---|---|---|---|---|
`, treeRanks)
	for _, nodes := range []int{16, 64, 256} {
		a, err := newAgents(nodes, treeRanks, 8)
		if err != nil {
			return err
		}
		var all, busiest []time.Duration
		var comms []*member.Comm
		frames, bytes := 0, 0
		for run := range runs {
			if comms, err = a.split(uint64(run) << 32); err != nil {
				return err
			}
			var t, m time.Duration
			t, m, frames, bytes = a.reset()
			all, busiest = append(all, t), append(busiest, m)
		}
		const many = 200
		var asked, known []time.Duration
		crossed, size := 0, 0
		for i := range many {
			for again := range 2 {
				comms[0].Locate(i * (len(comms) - 1) / many)
				a.say(0)
				a.settle()
				t, _, f, b := a.reset()
				switch {
				case again == 1:
					known = append(known, t)
				case f > 0:
					asked, crossed, size = append(asked, t), crossed+f, size+b
				}
			}
		}
		fmt.Fprintf(page, "| %d | %d | %.2f ms | %.1f ms | %d | %.2f | %.1f µs | %.1f | %d | %.1f µs |\n", nodes, nodes*treeRanks,
			micros(results.Median(busiest))/1e3, micros(results.Median(all))/1e3, frames, float64(bytes)/1e6,
			micros(results.Median(asked)), float64(crossed)/float64(len(asked)), size/len(asked), micros(results.Median(known)))
	}
	return nil
}
