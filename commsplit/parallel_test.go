package commsplit

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestConventionalIsTheDefinition(t *testing.T) {
	property(t, 2, func(t *rapid.T) {
		w := drawWorld(t, 12, 0, 60)
		check(t, w, solve(t, w, Config{}, makeConventional), 1)
	})
}

func TestParallelIsTheDefinition(t *testing.T) {
	property(t, 15, func(t *rapid.T) {
		w := drawWorld(t, 40, 0, 200)
		c := Config{
			Sorters: rapid.IntRange(1, len(w)).Draw(t, "sorters"),
			Parts:   rapid.IntRange(0, len(w)).Draw(t, "parts"),
			Cache:   rapid.SampledFrom([]int{0, 4, 64}).Draw(t, "cache"),
		}
		if rapid.Bool().Draw(t, "known") { // buffers are made beforehand
			c.Ranks = len(slices.Concat(w...))
		}
		check(t, w, solve(t, w, c, makeParallel), 7)
	})
}

// Whatever the rows are, the exact splitters give every sorter its share, so
// that no process holds more than three buffers of ⌈N/p⌉ rows.
func TestMemoryIsLinearInTheShare(t *testing.T) {
	for _, kind := range []string{"random", "equal", "sorted", "reversed"} {
		for _, p := range []int{2, 3, 8, 16} {
			const perProcess, processes = 30, 48
			w := make(world, processes)
			for rank := range perProcess * processes {
				r := NewRow(7, 7, uint32(rank))
				switch kind {
				case "random":
					r = NewRow(0, int32(mix(uint64(rank))), r.Rank)
				case "sorted":
					r = NewRow(0, int32(rank), r.Rank)
				case "reversed":
					r = NewRow(0, -int32(rank), r.Rank)
				}
				w[rank/perProcess] = append(w[rank/perProcess], r)
			}
			list := solve(t, w, Config{Sorters: p}, makeParallel)
			share := perProcess * processes / p
			for i, m := range list {
				require.LessOrEqual(t, m.Stats().PeakRows, 3*share+perProcess, "%s, p %d, process %d", kind, p, i)
				require.Equal(t, share, m.Result().Table.Rows())
				require.Equal(t, 4*share, m.Result().Table.Bytes())
			}
			check(t, w, list, 1000)
		}
	}
}

// The bytes of each step are those of the paper's analysis, to the byte.
func TestBytesExchanged(t *testing.T) {
	const n, p = 512, 8 // processes with one row each
	w := make(world, n)
	for rank := range n {
		w[rank] = []Row{NewRow(3, int32(mix(uint64(rank))>>33), uint32(rank))}
	}
	c := Config{Processes: n, Sorters: p}
	counter := &counting{Memory: NewMemory(n), bytes: map[Tag]int{}, messages: map[Tag]int{}}
	var machines []Machine
	for i := range n {
		m, err := NewParallel(c, i, w[i])
		require.NoError(t, err)
		machines = append(machines, m)
	}
	require.NoError(t, Run(Serial, counter, machines))

	const share, groups = n / p, n / p
	require.Equal(t, n*(share-1)*RowBytes, counter.bytes[tagDouble], "collect: each process receives its block's other rows")
	require.Equal(t, n*bits.Len(share-1), counter.messages[tagDouble])
	require.Equal(t, n*(p-1)*WordBytes, counter.bytes[tagCount])
	require.Equal(t, n*(p-1), counter.messages[tagRows])
	moved := 0
	for i := range n {
		for _, r := range w[i] {
			pl := machines[i].(*Parallel).Result().Memberships[0]
			if int(pl.New)/share != int(r.Rank)/share {
				moved++
			}
		}
	}
	require.Equal(t, groups*moved*RowBytes, counter.bytes[tagRows], "exchange: in each group the rows that change sorters")
	require.Equal(t, n*(p-1)*4*WordBytes, counter.bytes[tagBounds])
	require.Equal(t, n*(p-1)*WordBytes+moved*RowBytes, counter.bytes[tagAsk], "every rank asks once")
	require.Equal(t, n*(p-1)*WordBytes+moved*membershipWords*WordBytes, counter.bytes[tagAnswer], "and is answered once")

	sum := 0
	for i := range machines {
		sum += machines[i].Stats().Bytes
	}
	require.Equal(t, counter.total, sum, "processes count what they send")

	conventional := solve(t, w, Config{}, makeConventional)
	for _, m := range conventional {
		// Bruck sends one count with each row here.
		require.Equal(t, (n-1)*(RowBytes+WordBytes), m.Stats().Bytes)
		require.Equal(t, bits.Len(n-1), m.Stats().Messages)
	}
}

// The full table costs N - N/p rows more, at 4 bytes each.
func TestBytesOfTheFullTable(t *testing.T) {
	const n, p = 256, 8
	w := make(world, n)
	for rank := range n {
		w[rank] = []Row{NewRow(0, -int32(rank), uint32(rank))}
	}
	spread := solve(t, w, Config{Sorters: p}, makeParallel)
	full := solve(t, w, Config{Sorters: p, Parts: 1}, makeParallel)
	sum := 0
	for i := range n {
		sum += full[i].Stats().Bytes - spread[i].Stats().Bytes
		require.Equal(t, n, full[i].Result().Table.Rows())
	}
	require.Equal(t, n*(n-n/p)*RankBytes, sum)
}

// counting is an exchange that adds up bytes by step.
type counting struct {
	*Memory
	bytes, messages map[Tag]int
	total           int
}

func (x *counting) Turn() error {
	for _, list := range x.sent {
		for i := range list {
			step := list[i].Tag &^ (1<<16 - 1)
			x.bytes[step] += list[i].Size()
			x.messages[step]++
			x.total += list[i].Size()
		}
	}
	return x.Memory.Turn()
}

func TestThousandsOfNodes(t *testing.T) {
	const ranks = 16
	nodes := 4096
	if raced {
		nodes /= 8
	}
	w := make(world, nodes)
	for i := range w {
		for j := range ranks {
			rank := uint32(j*nodes + i) // cyclic, as a job may place them
			w[i] = append(w[i], NewRow(rank%100, int32(mix(uint64(rank))), rank))
		}
	}
	list := solve(t, w, Config{Sorters: 16, Cache: 16}, makeParallel)
	checkSome(t, w, list)
}

// checkSome compares all memberships and, from a few processes, a few look-ups.
func checkSome(t *testing.T, w world, list []solver) {
	t.Helper()
	classes := naive(w)
	tables := make([]*Table, len(list))
	for i, m := range list {
		tables[i] = m.Result().Table
	}
	for i, m := range list {
		for j, pl := range m.Result().Memberships {
			members := classes[w[i][j].Color]
			if int(pl.Size) != len(members) || members[pl.New] != w[i][j].Rank {
				require.Fail(t, "wrong place", "%v: %+v", w[i][j], pl)
			}
			if i%61 == 0 {
				for k := 0; k < len(members); k += 97 {
					require.Equal(t, members[k], lookUp(t, tables, i, pl, uint32(k)))
				}
			}
		}
	}
}

func TestBadConfigurations(t *testing.T) {
	for _, c := range []Config{
		{}, {Processes: 4}, {Processes: 4, Sorters: 5}, {Processes: 4, Sorters: -1},
		{Processes: 4, Sorters: 2, Parts: 5}, {Processes: 4, Sorters: 2, Parts: -1},
	} {
		_, err := NewParallel(c, 0, nil)
		require.Error(t, err, fmt.Sprintf("%+v", c))
	}
	_, err := NewParallel(Config{Processes: 4, Sorters: 1}, 4, nil)
	require.ErrorContains(t, err, "process 4 of 4")
}

// A process that never sends is noticed.
func TestRunNoticesSilence(t *testing.T) {
	m, err := NewParallel(Config{Processes: 2, Sorters: 2}, 0, nil)
	require.NoError(t, err)
	err = Run(Serial, NewMemory(2), []Machine{m})
	require.ErrorContains(t, err, "nobody sent")
}

// The outbox of a machine that is done does not keep its table.
func TestDoneOutboxLetsTheMachineGo(t *testing.T) {
	m, err := NewParallel(Config{Processes: 1, Sorters: 1}, 0, []Row{NewRow(0, 0, 0)})
	require.NoError(t, err)
	var box Outbox
	m.Step(nil, &box)
	require.True(t, box.Done())
	gone := weak.Make(m)
	runtime.GC()
	require.Nil(t, gone.Value())
	runtime.KeepAlive(&box)
}

func TestPhasesInOrder(t *testing.T) {
	var seen []Phase
	c := Config{Processes: 1, Sorters: 1, Watch: func(_ int, ph Phase) { seen = append(seen, ph) }}
	m, err := NewParallel(c, 0, []Row{NewRow(0, 0, 0)})
	require.NoError(t, err)
	require.NoError(t, Run(Serial, NewMemory(1), []Machine{m}))
	require.Equal(t, []Phase{Collect, Splitters, Bring, Combine, Settle, Finished}, seen)
	require.Equal(t, "merge", Combine.String())
}
