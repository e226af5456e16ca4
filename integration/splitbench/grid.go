package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/commsplit"
)

// gridProcesses compute the splits of the grid, all of them carried out.
const gridProcesses = 256

// kind is a split of the grid.
type kind struct {
	ranks, colors int
	skewed        bool // half of the ranks are of one colour
	ranged        bool // colours rise with the ranks
}

func (k kind) String() string {
	order, sizes := "scattered", "even"
	if k.ranged {
		order = "ranges"
	}
	if k.skewed {
		sizes = "half in one"
	}
	return fmt.Sprintf("%d | %d | %s | %s", k.ranks, k.colors, sizes, order)
}

func (k kind) rows() [][]commsplit.Row {
	world := make([][]commsplit.Row, gridProcesses)
	for i := range k.ranks {
		x := random(uint64(i))
		color := int(x>>40) % k.colors
		if k.ranged {
			color = i * k.colors / k.ranks
		}
		if k.skewed && (k.ranged && i < k.ranks/2 || !k.ranged && x&1 == 0) {
			color = 0
		}
		key := int32(x)
		if k.ranged {
			key = 0
		}
		p := i * gridProcesses / k.ranks
		world[p] = append(world[p], commsplit.NewRow(uint32(color), key, uint32(i)))
	}
	return world
}

func grid() []kind {
	var list []kind
	for _, ranks := range []int{gridProcesses, 16 * gridProcesses, 128 * gridProcesses} {
		for _, colors := range []int{1, 16, ranks / 16, ranks / 2} {
			for _, ranged := range []bool{false, true} {
				for _, skewed := range []bool{false, true} {
					k := kind{ranks, colors, skewed, ranged}
					if (colors > 1 || !skewed) && !slices.Contains(list, k) {
						list = append(list, k)
					}
				}
			}
		}
	}
	return list
}

// algorithm is a way to compute one process's part.
type algorithm struct {
	name string
	make func(process int, rows []commsplit.Row) (commsplit.Machine, error)
}

func algorithms(ranks int, costs commsplit.Costs) []algorithm {
	c := commsplit.Config{Processes: gridProcesses, Ranks: ranks, Sorters: 64}
	list := []algorithm{
		{"auto", func(i int, rows []commsplit.Row) (commsplit.Machine, error) {
			return commsplit.NewAuto(c, costs, i, rows)
		}},
		{"ranges", func(i int, rows []commsplit.Row) (commsplit.Machine, error) { return commsplit.NewRanges(c, i, rows) }},
		{"hash", func(i int, rows []commsplit.Row) (commsplit.Machine, error) { return commsplit.NewHash(c, i, rows) }},
		{"quick", func(i int, rows []commsplit.Row) (commsplit.Machine, error) { return commsplit.NewQuick(c, i, rows) }},
		{"conventional", func(i int, rows []commsplit.Row) (commsplit.Machine, error) {
			return commsplit.NewConventional(c, i, rows)
		}},
	}
	for _, p := range []int{1, 4, 16, 64} {
		c := c
		c.Sorters = p
		list = append(list, algorithm{fmt.Sprintf("sort p=%d", p), func(i int, rows []commsplit.Row) (commsplit.Machine, error) {
			return commsplit.NewParallel(c, i, rows)
		}})
	}
	return list
}

// rounds counts the rounds of an exchange, and the bytes that each receives.
type rounds struct {
	*commsplit.Memory
	turns    int
	received []int
}

func (r *rounds) Turn() error {
	r.turns++
	return r.Memory.Turn()
}

func (r *rounds) Receive(i int, tag commsplit.Tag, count int) ([]commsplit.Message, bool) {
	in, ok := r.Memory.Receive(i, tag, count)
	for k := range in {
		r.received[i] += in[k].Size()
	}
	return in, ok
}

// timer measures a machine's steps.
type timer struct {
	commsplit.Machine
	spent *time.Duration
}

func (t timer) Step(in []commsplit.Message, out *commsplit.Outbox) {
	*t.spent += timed(func() { t.Machine.Step(in, out) })
}

// errCannot says that an algorithm is not made for a split.
var errCannot = errors.New("not for this split")

// cost is what an algorithm takes: rounds, messages and bytes at the model's
// prices, work as measured. It is that of the process that takes longest.
func cost(a algorithm, world [][]commsplit.Row, costs commsplit.Costs, runs int) (time.Duration, string, error) {
	spent := make([]time.Duration, gridProcesses)
	var machines []commsplit.Machine
	var x *rounds
	for run := range runs {
		machines = machines[:0]
		now := make([]time.Duration, gridProcesses)
		for i, rows := range world {
			m, err := a.make(i, rows)
			if err != nil {
				return 0, "", errCannot
			}
			machines = append(machines, timer{m, &now[i]})
		}
		x = &rounds{commsplit.NewMemory(gridProcesses), 0, make([]int, gridProcesses)}
		collectGarbage()
		if err := commsplit.Run(commsplit.Serial, x, machines); err != nil {
			return 0, "", err
		}
		for i := range spent {
			if run == 0 || now[i] < spent[i] {
				spent[i] = now[i]
			}
		}
	}
	name := a.name
	switch m := machines[0].(timer).Machine.(type) {
	case *commsplit.Ranges:
		if m.Err() != nil {
			return 0, "", errCannot
		}
	case *commsplit.Auto:
		name = m.Plan().Method.String()
		if m.Plan().Method == commsplit.BySort {
			name += fmt.Sprintf(" p=%d", m.Plan().Sorters)
		}
	}
	worst := 0.0
	for i := range spent {
		t := float64(spent[i]) + float64(x.turns-1)*costs.Latency +
			2*float64(machines[i].Stats().Messages)*costs.Message + float64(x.received[i])*costs.Byte
		worst = max(worst, t)
	}
	return time.Duration(worst), name, nil
}

// gridTable compares auto with each algorithm alone.
func gridTable(page *strings.Builder, s settings) error {
	costs := commsplit.DefaultCosts()
	fmt.Fprintf(page, "| ranks | colours | sizes | order | auto | chose | best alone | which | auto/best |\n|---|---|---|---|---|---|---|---|---|\n")
	var ratios []float64
	for _, k := range grid() {
		if k.ranks > s.grid {
			continue
		}
		world := k.rows()
		var auto, best time.Duration
		var chose, which string
		for i, a := range algorithms(k.ranks, costs) {
			t, name, err := cost(a, world, costs, s.runs)
			switch {
			case errors.Is(err, errCannot):
			case err != nil:
				return err
			case i == 0:
				auto, chose = t, name
			case best == 0 || t < best:
				best, which = t, name
			}
		}
		ratio := float64(auto) / float64(best)
		ratios = append(ratios, ratio)
		fmt.Fprintf(page, "| %v | %.0f µs | %s | %.0f µs | %s | %.2f |\n", k, micros(auto), chose, micros(best), which, ratio)
	}
	slices.Sort(ratios)
	if len(ratios) > 0 {
		fmt.Fprintf(page, "\nWorst %.2f, median %.2f.\n", ratios[len(ratios)-1], ratios[len(ratios)/2])
	}
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
