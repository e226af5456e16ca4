package commsplit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golaunch/golaunch/commsplit"
)

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
	for _, p := range []int{1, 2, 4, 8, 16, 32, 64} {
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

// trial is an algorithm as it computes a split again and again.
type trial struct {
	algorithm
	spent []time.Duration // the least, by process, with the time to begin
	net   []float64       // rounds, messages and bytes at the model's prices
	chose string
	runs  int
}

// run computes the split once more.
func (t *trial) run(world [][]commsplit.Row, costs commsplit.Costs) error {
	machines := make([]commsplit.Machine, len(world))
	now := make([]time.Duration, len(world))
	// The first process finds allocator and caches cold: each time another.
	t.runs++
	first := t.runs * 101
	for k := range world {
		var m commsplit.Machine
		var err error
		i := (k + first) % len(world)
		now[i] = timed(func() { m, err = t.make(i, world[i]) })
		if err != nil {
			return errCannot
		}
		machines[i] = timer{m, &now[i]}
	}
	x := &rounds{commsplit.NewMemory(gridProcesses), 0, make([]int, gridProcesses)}
	collectGarbage()
	from := func(n int, do func(i int)) {
		for i := range n {
			do((i + first) % n)
		}
	}
	if err := commsplit.Run(from, x, machines); err != nil {
		return err
	}
	t.chose = t.name
	switch m := machines[0].(timer).Machine.(type) {
	case *commsplit.Ranges:
		if m.Err() != nil {
			return errCannot
		}
	case *commsplit.Auto:
		t.chose = m.Plan().Method.String()
		if m.Plan().Method == commsplit.BySort {
			t.chose += fmt.Sprintf(" p=%d", m.Plan().Sorters)
		}
	}
	if t.spent == nil {
		t.spent, t.net = now, make([]float64, len(world))
	}
	for i := range now {
		t.spent[i] = min(t.spent[i], now[i])
		t.net[i] = float64(x.turns-1)*costs.Latency + 2*float64(machines[i].Stats().Messages)*costs.Message + float64(x.received[i])*costs.Byte
	}
	return nil
}

// cost returns that of the process that takes longest.
func (t *trial) cost() time.Duration {
	worst := 0.0
	for i, spent := range t.spent {
		worst = max(worst, float64(spent)+t.net[i])
	}
	return time.Duration(worst)
}

// looks are the numbers of measurements of a split after which algorithms drop out:
// those that take so many times as long as the best.
var looks = []struct {
	runs int
	drop float64
}{{2, 4}, {2, 1.6}, {3, 1.2}}

// A split is measured so many times more for each of the runs that were asked for.
const leastTimes, mostTimes = 3, 8

// runsAtLeast and runsAtMost bound the measurements of a split in all.
func runsAtLeast(runs int) int { return lookRuns() + runs*leastTimes }
func runsAtMost(runs int) int  { return lookRuns() + runs*mostTimes }

func lookRuns() (sum int) {
	for _, l := range looks {
		sum += l.runs
	}
	return sum
}

// compare runs auto and the algorithms alone in turn, so that disturbances of the
// machine hit them alike, each several times, so that none suffers from the remains of
// the one before it. Those that are far from the best drop out early.
func compare(k kind, costs commsplit.Costs, runs int) (auto, best *trial, err error) {
	world := k.rows()
	var trials []*trial
	for _, a := range algorithms(k.ranks, costs) {
		trials = append(trials, &trial{algorithm: a})
	}
	auto = trials[0]
	measure := func(times int) error {
		for range times {
			for i := 0; i < len(trials); i++ {
				switch err := trials[i].run(world, costs); {
				case errors.Is(err, errCannot):
					trials = slices.Delete(trials, i, i+1)
					i--
				case err != nil:
					return err
				}
			}
		}
		best = slices.MinFunc(trials[1:], func(a, b *trial) int { return cmp.Compare(a.cost(), b.cost()) })
		return nil
	}
	for _, look := range looks {
		if err := measure(look.runs); err != nil {
			return nil, nil, err
		}
		limit := time.Duration(look.drop * float64(best.cost()))
		trials = slices.DeleteFunc(trials, func(t *trial) bool { return t != auto && t.cost() > limit })
	}
	// Short ones are disturbed more easily.
	if err := measure(runs * min(mostTimes, max(leastTimes, gridMost/k.ranks))); err != nil {
		return nil, nil, err
	}
	return auto, best, nil
}
