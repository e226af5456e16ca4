package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/algorithms"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Bounds of netsim's work, so that it answers within about half a minute.
const (
	maxSimRanks  = 1 << 20
	maxRouted    = 1 << 25 // messages
	maxSimulated = 1 << 28 // messages times ranks, and the work of a simulation (netsim.Progress)
	maxSweep     = 64      // rows
)

// placed is ranks on the hosts of a network.
type placed struct {
	*network
	rule  string // of their order
	hosts []topology.Node
}

// place puts ranks on hosts: blocks as large as their slots, in the order of the flags.
func (t *netsimFlags) place(e env) (*placed, error) {
	n, err := t.load(e.stdio.Stderr)
	if err == nil {
		err = n.complete()
	}
	if err != nil {
		return nil, err
	}
	nodes, of := n.chosen()
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s has no hosts for ranks", n.from)
	}
	slots := map[topology.Node]int{}
	for i, node := range nodes {
		slots[node] = 1
		if n.found != nil {
			slots[node] = max(1, n.hosts[of[i]].Slots)
		}
	}
	p := &placed{network: n, rule: "as given"}
	switch t.order {
	case "best":
		orders, err := routing.Orders(n.router, nodes, t.seed, progress(e.stdio.Stderr, "stages"))
		if err != nil {
			return nil, err
		}
		nodes, p.rule = orders[0].Hosts, orders[0].String()
	case "shuffled":
		topology.Shuffle(nodes, t.seed)
		p.rule = fmt.Sprintf("shuffled, seed %d", t.seed)
	}
	for _, node := range nodes {
		for range slots[node] {
			if p.hosts = append(p.hosts, node); len(p.hosts) > maxSimRanks {
				return nil, fmt.Errorf("the hosts hold more than %d ranks; name fewer, or give them fewer slots", maxSimRanks)
			}
		}
	}
	return p, nil
}

// tooMany returns the error of more ranks than places.
func (p *placed) tooMany(ranks int) error {
	return fmt.Errorf("-n %d: the hosts hold %s; name more, or give them slots, as in -H 'h[0-15]:4'", ranks, count(len(p.hosts), "rank"))
}

// simulated is the cost of an algorithm for one size and number of ranks.
type simulated struct {
	Algorithm string           `json:"algorithm"`
	Ranks     int              `json:"ranks"`
	Size      int              `json:"size_bytes"`
	Network   string           `json:"network"`
	Routes    string           `json:"routes"`
	Order     string           `json:"order"`
	Startup   float64          `json:"startup_seconds"`
	Barrier   bool             `json:"barrier"`
	Count     int              `json:"stage_count"`
	Stages    []simulatedStage `json:"stages,omitempty"` // of run alone
	Total     simulatedStage   `json:"total"`
	Note      string           `json:"note,omitempty"` // the reason that it was not simulated
}

// simulatedStage is the cost of a stage, or of all: then the busiest link is that of
// any stage.
type simulatedStage struct {
	Messages int     `json:"messages"`
	Bytes    int64   `json:"bytes"`
	Flows    int64   `json:"messages_on_busiest_link"`
	Most     int64   `json:"bytes_on_busiest_link"`
	Model    float64 `json:"model_seconds"`
	// Ended is the time at which its last message arrives, from the beginning; absent where it
	// was not simulated.
	Ended *float64 `json:"simulated_end_seconds,omitempty"`
}

// tooManyMessages reports whether a schedule has more messages than that.
func tooManyMessages(s netsim.Schedule, most int) bool {
	var messages []netsim.Message
	for i := range s.Stages {
		messages = s.Append(messages[:0], i)
		if most -= len(messages); most < 0 {
			return true
		}
	}
	return false
}

// simulate works out the cost of an algorithm.
func (t *netsimFlags) simulate(p *placed, a *netsim.Algorithm, ranks, size int) (*simulated, error) {
	if ranks = cmp.Or(ranks, len(p.hosts)); ranks > len(p.hosts) {
		return nil, p.tooMany(ranks)
	}
	n, err := netsim.New(p.router, p.hosts[:ranks])
	if err != nil {
		return nil, err
	}
	s, err := algorithms.Schedule(a, ranks, n, int64(size))
	if err != nil {
		return nil, err
	}
	if tooManyMessages(s, maxRouted) {
		return nil, fmt.Errorf("%s of %d ranks has more than %d messages; ask for fewer ranks with -n", a.Name, ranks, maxRouted)
	}
	costs := netsim.Costs{Startup: t.startup.Seconds()}
	stages, err := costs.Cost(n, s)
	if err != nil {
		return nil, err
	}
	r := &simulated{Algorithm: a.Name, Ranks: ranks, Size: size, Network: p.from, Routes: p.router.String(), Order: p.rule,
		Startup: costs.Startup, Barrier: t.barrier, Count: s.Stages}
	for _, c := range stages {
		r.Stages = append(r.Stages, simulatedStage{c.Messages, c.Bytes, c.Flows, c.Most, c.Seconds, nil})
		r.Total.Messages += c.Messages
		if r.Total.Bytes += c.Bytes; r.Total.Bytes < 0 {
			return nil, fmt.Errorf("%s of %d ranks of %d bytes sends more than 8 EiB; ask for less with -n or --size", a.Name, ranks, size)
		}
		r.Total.Flows, r.Total.Most = max(r.Total.Flows, c.Flows), max(r.Total.Most, c.Most)
		r.Total.Model += c.Seconds
	}
	var timing *netsim.Timing
	err = netsim.ErrWork
	if r.Total.Messages <= maxSimulated/max(1, ranks) {
		timing, err = netsim.Simulate(n, s, costs, netsim.Progress{Barrier: t.barrier, Work: maxSimulated})
	}
	if errors.Is(err, netsim.ErrWork) {
		r.Note = fmt.Sprintf("not simulated, which would take long: %d messages of %d ranks; ask for fewer ranks with -n", r.Total.Messages, ranks)
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.Total.Ended = &timing.Seconds
	for i := range r.Stages {
		r.Stages[i].Ended = &timing.Ended[i]
	}
	return r, nil
}

// runOne prints the cost of an algorithm, stage by stage.
func (t *netsimFlags) runOne(e env, words []string) (int, error) {
	a, err := algorithms.Find(words[0])
	if err != nil {
		return 0, err
	}
	ranks, err := one("-n", t.ranks)
	if err != nil {
		return 0, err
	}
	size, err := one("--size", t.sizes)
	if err != nil {
		return 0, err
	}
	p, err := t.place(e)
	if err != nil {
		return 0, err
	}
	r, err := t.simulate(p, a, ranks, size)
	if err != nil {
		return 0, err
	}
	if t.format == "json" {
		return e.printJSON(r)
	}
	return e.print(r.text())
}

// sweep prints the cost of an algorithm for each number of ranks and each size.
func (t *netsimFlags) sweep(e env, words []string) (int, error) {
	a, err := algorithms.Find(words[0])
	if err != nil {
		return 0, err
	}
	if len(t.ranks) == 0 {
		t.ranks = []int{0}
	}
	if rows := len(t.ranks) * len(t.sizes); rows > maxSweep {
		return 0, fmt.Errorf("%d rows; ask for at most %d with -n and --size", rows, maxSweep)
	}
	p, err := t.place(e)
	if err != nil {
		return 0, err
	}
	var rows []*simulated
	for _, ranks := range t.ranks {
		for _, size := range t.sizes {
			r, err := t.simulate(p, a, ranks, size)
			if err != nil {
				return 0, err
			}
			r.Stages = nil
			rows = append(rows, r)
		}
	}
	if t.format == "json" {
		return e.printJSON(rows)
	}
	return e.print(sweepText(rows))
}

// text renders a table of all stages.
func (r *simulated) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %d bytes\n", r.Algorithm, count(r.Ranks, "rank"), r.Size)
	fmt.Fprintf(&b, "network  %s, routes by %s\n", r.Network, r.Routes)
	fmt.Fprintf(&b, "order    %s\n\n", r.Order)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "stage\t"+costHead)
	for i, s := range r.Stages {
		fmt.Fprintf(w, "%d\t%s\n", i, s.text())
	}
	fmt.Fprintf(w, "all\t%s\n", r.Total.text())
	w.Flush()
	if r.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Note)
	}
	return b.String()
}

// sweepText renders a table with a line for each number of ranks and size.
func sweepText(rows []*simulated) string {
	var b strings.Builder
	r := rows[0]
	fmt.Fprintf(&b, "%s\nnetwork  %s, routes by %s\norder    %s\n\n", r.Algorithm, r.Network, r.Routes, r.Order)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ranks\tsize\tstages\t"+costHead)
	for _, r := range rows {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\n", r.Ranks, r.Size, r.Count, r.Total.text())
	}
	w.Flush()
	for _, r := range rows {
		if r.Note != "" {
			fmt.Fprintf(&b, "\n%s", r.Note)
		}
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}

// costHead is the head of text's table.
const costHead = "messages\tbytes\tmost on a link\tbytes on a link\tmodel µs\tsimulated end µs\t"

func (s *simulatedStage) text() string {
	simulated := "-"
	if s.Ended != nil {
		simulated = fmt.Sprintf("%.1f", *s.Ended*1e6)
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%.1f\t%s\t", s.Messages, s.Bytes, s.Flows, s.Most, s.Model*1e6, simulated)
}
