package commsplit

import (
	"cmp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// parallel is a Loop of several goroutines, so that the race detector sees what
// machines do to each other's memory.
func parallel(n int, do func(i int)) {
	var wait sync.WaitGroup
	const workers = 4
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	wait.Wait()
}

// maker makes one process's machine of some algorithm.
type maker func(config Config, process int, rows []Row) (solver, error)

func makeParallel(c Config, process int, rows []Row) (solver, error) {
	return NewParallel(c, process, rows)
}

func makeConventional(c Config, process int, rows []Row) (solver, error) {
	return NewConventional(c, process, rows)
}

// world is the rows of every process.
type world [][]Row

// drawWorld draws rows of some processes: few or many colours and keys, equal,
// skewed and signed, some undefined, ranks dealt out in any way.
func drawWorld(t *rapid.T, maxProcesses, minRows, maxRows int) world {
	processes := rapid.IntRange(1, maxProcesses).Draw(t, "processes")
	w := make(world, processes)
	colors := rapid.SampledFrom([]uint32{1, 2, 5, 1 << 20, Undefined - 1}).Draw(t, "colours")
	keys := rapid.SampledFrom([]int32{0, 1, 100, 1<<31 - 1}).Draw(t, "keys")
	undefined := rapid.SampledFrom([]int{0, 0, 2, 10, 100}).Draw(t, "undefined %")
	skew := rapid.Bool().Draw(t, "skew")
	order := rapid.SampledFrom([]string{"block", "cyclic", "any"}).Draw(t, "order")
	n := rapid.IntRange(minRows, maxRows).Draw(t, "rows")
	seed := rapid.Uint64().Draw(t, "seed")
	random := func() uint64 { seed++; return mix(seed) }
	for rank := range n {
		color := uint32(random() % (uint64(colors) + 1))
		if skew && random()%4 != 0 {
			color = 0
		}
		if int(random()%100) < undefined {
			color = Undefined
		}
		key := int32(int64(random()%(2*uint64(keys)+2)) - int64(keys) - 1)
		p := rank * processes / n
		switch order {
		case "cyclic":
			p = rank % processes
		case "any":
			p = int(random() % uint64(processes))
		}
		w[p] = append(w[p], NewRow(color, key, uint32(rank)))
	}
	return w
}

// drawNearlyRanged draws rows that look like ranges at most processes, at all, or
// as long as one does not look at more than a few of them.
func drawNearlyRanged(t *rapid.T, maxProcesses, maxEach int) world {
	processes := rapid.IntRange(1, maxProcesses).Draw(t, "processes")
	each := rapid.IntRange(1, maxEach).Draw(t, "rows each")
	size := rapid.IntRange(1, processes*each).Draw(t, "class size")
	w := make(world, processes)
	n := processes * each
	colors := make([]int, n)
	for rank := range colors {
		colors[rank] = rank / size
	}
	for range rapid.IntRange(0, 3).Draw(t, "astray") {
		a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
		colors[a], colors[b] = colors[b], colors[a]
	}
	period := rapid.SampledFrom([]int{n, n, n/2 + 1, n/8 + 1, 1}).Draw(t, "period")
	turn := rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "turn")
	large := rapid.IntRange(0, processes).Draw(t, "large")
	for rank, color := range colors {
		p := (rank/each + turn) % processes
		if p%max(large, 1) == 1 { // its neighbor has its rows, too
			p--
		}
		w[p] = append(w[p], NewRow(uint32(color%period), 0, uint32(rank)))
	}
	return w
}

// naive returns the definition of MPI_Comm_split: for each colour the old ranks in
// the order of key and old rank.
func naive(w world) map[uint32][]uint32 {
	rows := slices.Concat(w...)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Color, b.Color), cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.Rank, b.Rank))
	})
	classes := map[uint32][]uint32{}
	for _, r := range rows {
		if r.Color != Undefined {
			classes[r.Color] = append(classes[r.Color], r.Rank)
		}
	}
	return classes
}

// solve runs an algorithm on all processes.
func solve(t require.TestingT, w world, c Config, create maker) []solver {
	c.Processes = len(w)
	var machines []Machine
	var list []solver
	for i, rows := range w {
		m, err := create(c, i, rows)
		require.NoError(t, err)
		machines, list = append(machines, m), append(list, m)
	}
	require.NoError(t, Run(parallel, NewMemory(len(w)), machines))
	return list
}

// check compares every process's result with the definition. Every stride-th
// new rank is looked up from every process, the first and the last too.
func check(t require.TestingT, w world, list []solver, stride int) {
	classes := naive(w)
	tables := make([]*Table, len(list))
	for i, m := range list {
		tables[i] = m.Result().Table
	}
	position := map[uint32]uint32{}
	for _, members := range classes {
		for i, rank := range members {
			position[rank] = uint32(i)
		}
	}
	for i, rows := range w {
		memberships := list[i].Result().Memberships
		require.Len(t, memberships, len(rows))
		for j, r := range rows {
			pl := memberships[j]
			members := classes[r.Color]
			require.Equal(t, r.Rank, pl.Rank)
			require.Equal(t, uint32(len(members)), pl.Size, "size of %v", r)
			if r.Color == Undefined {
				continue
			}
			require.Equal(t, position[r.Rank], pl.New, "place of %v", r)
			for k := 0; k < len(members); k = min(k+stride, max(k+1, len(members)-1)) {
				require.Equal(t, members[k], lookUp(t, tables, i, pl, uint32(k)))
			}
		}
	}
}

// lookUp resolves a new rank from a process, asking the holder if need be.
func lookUp(t require.TestingT, tables []*Table, from int, pl Membership, r uint32) uint32 {
	if old, ok := tables[from].Find(pl, r); ok {
		return old
	}
	process, position := tables[from].Holder(pl, r)
	old, ok := tables[process].Answer(position)
	if !ok {
		require.Fail(t, "holder does not know", "process %d, position %d, place %+v", process, position, pl)
	}
	tables[from].Learn(pl, r, old)
	return old
}

// property checks f on many random cases; rapid's own number per check, with
// different seeds, times over.
func property(t *testing.T, times int, f func(t *rapid.T)) {
	t.Helper()
	if raced {
		times = max(1, times/5)
	}
	for range times {
		rapid.Check(t, f)
	}
}
