package commsplit

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAutoIsTheDefinition(t *testing.T) {
	property(t, 10, func(t *rapid.T) {
		w := drawWorld(t, 30, 1, 150)
		if rapid.IntRange(0, 4).Draw(t, "one rank each") == 0 {
			w = w.one()
		}
		costs := Costs{ // any: a different method for each
			Latency: rapid.Float64Range(0, 1e4).Draw(t, "latency"),
			Message: rapid.Float64Range(0, 1e4).Draw(t, "message"),
			Byte:    rapid.Float64Range(0, 100).Draw(t, "byte"),
			Row:     rapid.Float64Range(0, 100).Draw(t, "row"),
			Search:  rapid.Float64Range(0, 100).Draw(t, "search"),
		}
		list := choose(t, w, costs)
		check(t, w, list, 7)
	})
}

// choose has all processes split by a choice, which must be one.
func choose(t *rapid.T, w world, costs Costs) []solver {
	c := Config{Sorters: rapid.IntRange(1, len(w)).Draw(t, "sorters")}
	if rapid.Bool().Draw(t, "known") {
		c.Ranks = len(slices.Concat(w...))
	}
	list := solve(t, w, c, func(c Config, process int, rows []Row) (solver, error) {
		return NewAuto(c, costs, process, rows)
	})
	for _, m := range list {
		require.Equal(t, list[0].(*Auto).Plan(), m.(*Auto).Plan(), "all choose alike")
	}
	return list
}

// What is taken for ranges at first, and is none, ends as it should.
func TestAutoResumesItsSurvey(t *testing.T) {
	resumed, held := 0, 0
	property(t, 10, func(t *rapid.T) {
		w := drawNearlyRanged(t, 20, 12)
		costs := DefaultCosts()
		costs.Byte = rapid.SampledFrom([]float64{0.8, 5, 30, 100}).Draw(t, "byte")
		costs.Row = rapid.SampledFrom([]float64{5, 100}).Draw(t, "row")
		list := choose(t, w, costs)
		switch list[0].(*Auto).scan.tag {
		case tagSurveyAgain:
			resumed++
		case tagHomeward:
			held++
		}
		check(t, w, list, 7)
	})
	require.Positive(t, resumed)
	require.Positive(t, held)
}

// Each kind of split gets the method that was made for it.
func TestAutoChooses(t *testing.T) {
	const n = 1 << 10
	costs := DefaultCosts()
	costs.Byte = 10 // a slow network
	kinds := map[Method]func(rank uint32) Row{
		ByRanges: func(rank uint32) Row { return NewRow(rank/32, 0, rank) },
		ByHash:   func(rank uint32) Row { return NewRow(uint32(mix(uint64(rank)))%(n/2), 0, rank) },
	}
	for want, row := range kinds {
		w := make(world, n)
		for i := range w {
			w[i] = []Row{row(uint32(i))}
		}
		list := solve(t, w, Config{Sorters: 64}, func(c Config, process int, rows []Row) (solver, error) {
			return NewAuto(c, costs, process, rows)
		})
		require.Equal(t, want.String(), list[0].(*Auto).Plan().Method.String())
		check(t, w, list, 50)
		require.Positive(t, list[0].Stats().Messages)
	}
}

func TestChooseFollowsTheModel(t *testing.T) {
	c := DefaultCosts()
	one := Shape{Processes: 1 << 17, Rows: 1 << 27, Largest: 1 << 27}
	plan, cost := c.Choose(one, 1<<10)
	require.Equal(t, BySort, plan.Method, "one huge class")
	require.Greater(t, plan.Sorters, 16)
	for p := 1; p <= 1<<10; p *= 2 {
		require.LessOrEqual(t, cost, c.Sort(one, p))
	}
	smaller, _ := c.Choose(Shape{Processes: 1 << 17, Rows: 1 << 20, Largest: 1 << 20}, 1<<10)
	require.Less(t, smaller.Sorters, plan.Sorters, "the best number of sorters grows with n")

	plan, _ = c.Choose(Shape{Processes: 1 << 23, Rows: 1 << 23, Largest: 1 << 23, Single: true}, 1<<10)
	require.Equal(t, ByQuick, plan.Method)
	plan, _ = c.Choose(Shape{Processes: 4, Rows: 40, Largest: 40}, 4)
	require.Equal(t, Plan{BySort, 1}, plan, "a few rows are merged in place")
}

func TestSketch(t *testing.T) {
	for _, colors := range []int{1, 5, 60, 1000, 1 << 17} {
		var a, b sketch
		for i := range colors {
			a.add(uint32(i))
			b.add(uint32(i / 2))
		}
		u := a.union(b)
		for i := range registers {
			require.Equal(t, max(a.register(i), b.register(i)), u.register(i))
		}
		got := u.count()
		require.Less(t, math.Abs(got-float64(colors)), 0.4*float64(colors)+0.5, "%d colours, estimate %v", colors, got)
	}
}
