package commsplit

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// The sorters that are carried out end with the same table as a sort of all rows, so
// the whole work is timed.
func TestSortingSortsEverything(t *testing.T) {
	const n, p = 1 << 12, 8
	for _, colors := range []int{1, 5} {
		m := newArena(n)
		s, err := newSorting(m, n, p, p, colors)
		require.NoError(t, err)
		require.NoError(t, commsplit.Run(commsplit.Serial, s, s.machines))
		want := newArena(n).fill(n, colors)
		commsplit.SortRows(want)
		for i, machine := range s.machines {
			table := machine.(stopwatch).Machine.(*commsplit.Parallel).Result().Table
			require.Equal(t, n/p, table.Rows())
			for k := range n / p {
				position := uint32(i*n/p + k)
				rank, ok := table.Answer(position)
				require.True(t, ok)
				require.Equal(t, want[position].Rank, rank)
			}
			require.NotZero(t, s.times[i][commsplit.Collect], "phases are timed")
			require.NotZero(t, s.times[i][commsplit.Combine], "phases are timed")
		}
	}
}

// With the full table everywhere, each sorter sends its share to all others.
func TestFullTable(t *testing.T) {
	const n, p = 1 << 12, 8
	m, sent := newArena(n), map[int]int{}
	for _, parts := range []int{1, p} {
		s, err := newSorting(m, n, p, parts, 1)
		require.NoError(t, err)
		require.NoError(t, commsplit.Run(commsplit.Serial, s, s.machines))
		for _, machine := range s.machines {
			_, given := machine.(ended)
			require.Equal(t, parts == 1, given, "full tables are given up")
			sent[parts] += machine.Stats().Bytes
		}
		require.NotZero(t, s.worst()[commsplit.Settle])
	}
	require.Equal(t, p*(p-1)*n/p*commsplit.RankBytes, sent[1]-sent[p])
}

func TestPage(t *testing.T) {
	var page strings.Builder
	s, err := parse(results.NewFlags("commsplit", "-n", "4K,8K", "-small", "4K", "-runs", "1", "-shared"))
	require.NoError(t, err)
	require.NoError(t, write(&page, s))
	one := []kind{{ranks: gridProcesses, colors: 16, order: cyclic}, {ranks: 1 << 30}}
	s.grid = gridProcesses
	require.NoError(t, gridTable(&page, s, one))
	for _, part := range []string{"Other programs ran", "| 4K | collect |", "| 8K |", "-n 4K,8K", "auto/best", "| 256 | 16 | even | cyclic |"} {
		require.Contains(t, page.String(), part)
	}
	require.NotContains(t, page.String(), "NaN")
	for line := range bytes.Lines([]byte(page.String())) {
		require.Equal(t, bytes.TrimRight(line, " \n"), bytes.TrimSuffix(line, []byte("\n")), "no blanks at the end")
	}
}

// Every order of the grid deals out all ranks, and fits its name.
func TestGrid(t *testing.T) {
	for _, k := range grid() {
		if k.ranks != 16*gridProcesses {
			continue
		}
		world, seen := k.rows(), map[uint32]bool{}
		rising, neighbours := true, 0
		last := commsplit.Row{}
		for p, rows := range world {
			require.Len(t, rows, 16)
			for i, r := range rows {
				seen[r.Rank] = true
				rising = rising && (p == 0 && i == 0 || commsplit.Compare(last, r) < 0)
				if last.Rank+1 == r.Rank && last.Color <= r.Color {
					neighbours++
				}
				last = r
			}
		}
		require.Len(t, seen, k.ranks)
		require.Equal(t, k.order == ranges, rising, "%v", k)
		if k.order == astray || k.order == some {
			require.Greater(t, neighbours, k.ranks*9/10, "%v", k)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-n", "3M"}, {"-n", ""}, {"-p", "x"}, {"-runs", "0"}, {"more"}, {"-small", "-2"}, {"-what", "all"}, {"-nodes", "1"}} {
		_, err := parse(results.NewFlags("commsplit", args...))
		require.Error(t, err, "%q", args)
	}
	_, err := newSorting(nil, 12, 4, 4, 1)
	require.ErrorContains(t, err, "powers of two")
}

// The tree of agents whose work is measured does what it should.
func TestAgentsSplitAndLookUp(t *testing.T) {
	runtime.LockOSThread() // processor time is a thread's
	defer runtime.UnlockOSThread()
	a, err := newAgents(9, 4, 3)
	require.NoError(t, err)
	comms, err := a.split(7)
	require.NoError(t, err)
	total, most, frames, size := a.reset()
	require.NotZero(t, most)
	require.Greater(t, total, most)
	require.Greater(t, frames, 16, "every link was used both ways")
	require.Greater(t, size, 36*commsplit.RowBytes)
	seen := map[int]bool{}
	for _, c := range comms {
		require.Equal(t, 36, c.Size())
		seen[c.Rank()] = true
	}
	require.Len(t, seen, 36)
	for i, c := range comms {
		q := comms[35].Locate(c.Rank())
		a.say(35)
		a.settle()
		done, err := q.Done()
		require.True(t, done)
		require.NoError(t, err)
		rank, node := q.Location()
		require.Equal(t, []int{i, i / 4}, []int{rank, node})
	}
}

// The count is of the table's splits.
func TestSummaryCountsSplits(t *testing.T) {
	require.Empty(t, summary(nil))
	require.Equal(t, "\nOf 4 splits 1 take more than 2 times the best; the worst is 2.01, the median 2.00.\n", summary([]float64{2.0049, 1.0, 2.0051, 2}))
}
