package commsplit

import (
	"fmt"
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

// Classes that are nearly ranges, and are none, end as they should.
func TestAutoOfWhatIsNearlyRanged(t *testing.T) {
	property(t, 10, func(t *rapid.T) {
		w := drawNearlyRanged(t, 20, 12)
		costs := DefaultCosts()
		costs.Byte = rapid.SampledFrom([]float64{0.8, 5, 30, 100}).Draw(t, "byte")
		costs.Row = rapid.SampledFrom([]float64{5, 100}).Draw(t, "row")
		check(t, w, choose(t, w, costs), 7)
	})
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
	one := Shape{Processes: 1 << 17, Rows: 1 << 27, Items: 1 << 27, Largest: 1 << 27}
	plan := c.Choose(one, 1<<10)
	require.Equal(t, BySort, plan.Method, "one huge class")
	require.Greater(t, plan.Sorters, 16)
	smaller := c.Choose(Shape{Processes: 1 << 17, Rows: 1 << 20, Items: 1 << 20, Largest: 1 << 20}, 1<<10)
	require.Less(t, smaller.Sorters, plan.Sorters, "the best number of sorters grows with n")

	even := Shape{Processes: 256, Rows: 1 << 15, Items: 1 << 15, Classes: 16, Largest: 1 << 11}
	require.Equal(t, BySort, c.Choose(even, 64).Method, "two classes may meet at a home")
	even.Classes, even.Largest = 1<<11, 1<<4
	require.Equal(t, ByHash, c.Choose(even, 64).Method, "small classes")

	plan = c.Choose(Shape{Processes: 1 << 23, Rows: 1 << 23, Items: 1 << 23, Largest: 1 << 23, Single: true}, 1<<10)
	require.Equal(t, ByQuick, plan.Method)
	plan = c.Choose(Shape{Processes: 4, Rows: 40, Items: 40, Largest: 40}, 4)
	require.Equal(t, Plan{BySort, 1}, plan, "a few rows are merged in place")
}

// Few ranks are merged in place at once: nobody sends anything but its table.
func TestAutoDoesNotSurveyFewRanks(t *testing.T) {
	const processes = 64
	costs := DefaultCosts()
	for _, ranks := range []int{processes, 64 * processes} {
		w := make(world, processes)
		for rank := range ranks {
			w[rank%processes] = append(w[rank%processes], NewRow(0, int32(mix(uint64(rank))), uint32(rank)))
		}
		list := solve(t, w, Config{Sorters: 1, Ranks: ranks}, func(c Config, process int, rows []Row) (solver, error) {
			return NewAuto(c, costs, process, rows)
		})
		few := costs.few(processes, ranks)
		require.Equal(t, ranks == processes, few)
		for _, m := range list {
			require.Equal(t, Plan{BySort, 1}, m.(*Auto).Plan())
			require.Equal(t, few, m.Stats().Messages == 6)
		}
		check(t, w, list, 50)
	}
}

// Every process learns the same survey, which is as close to the truth as it says.
func TestSurveyKeepsItsBounds(t *testing.T) {
	property(t, 5, func(t *rapid.T) {
		w := drawWorld(t, 40, 1, 400)
		list := solve(t, w, Config{Sorters: 1}, func(c Config, process int, rows []Row) (solver, error) {
			return NewAuto(c, DefaultCosts(), process, rows)
		})
		total, items := uint32(0), map[uint32]uint32{}
		for _, rows := range w {
			for i := 0; i < len(rows); i = stretch(rows, i) {
				if rows[i].Color != Undefined {
					total++
					items[rows[i].Color]++
				}
			}
		}
		s := list[0].(*Auto).scan.survey
		for i, m := range list {
			require.Equal(t, s.colors, m.(*Auto).scan.survey.colors, "process %d", i)
			require.Equal(t, s.frequent, m.(*Auto).scan.survey.frequent, "process %d", i)
		}
		require.Equal(t, total, list[0].(*Auto).scan.all().items)
		told := map[uint32]uint32{}
		for _, x := range s.frequent {
			told[x.color] += x.items
		}
		for color, n := range items {
			require.LessOrEqual(t, told[color], n)
			require.GreaterOrEqual(t, 5*told[color]+total, 5*n)
		}
	})
}

func TestSurveyCountsColors(t *testing.T) {
	for _, colors := range []int{1, 5, 60, 200, 400} {
		var rows []Row
		for i := range 4 * colors {
			rows = append(rows, NewRow(uint32(i%colors), 0, uint32(i)))
		}
		require.InEpsilon(t, colors, newSurvey(rows).count(), 0.2, "%d colours", colors)
	}
	s := survey{colors: [2]uint64{math.MaxUint64, math.MaxUint64}}
	require.InDelta(t, 621, s.count(), 1)
	require.Equal(t, 1.0, newSurvey(nil).count())
}

// paid is an exchange that counts what the model puts a price on.
type paid struct {
	*Memory
	turns    int
	received []int // bytes, by process
}

func (p *paid) Turn() error {
	p.turns++
	return p.Memory.Turn()
}

func (p *paid) Receive(i int, tag Tag, count int) ([]Message, bool) {
	in, ok := p.Memory.Receive(i, tag, count)
	for k := range in {
		p.received[i] += in[k].Size()
	}
	return in, ok
}

// priced carries an algorithm out. The function returns what its rounds, messages and
// bytes cost the process that pays most; it is nil if the split is not for the algorithm.
func priced(t *testing.T, w world, create maker) (price func(Costs) float64) {
	exchange := &paid{Memory: NewMemory(len(w)), received: make([]int, len(w))}
	machines := make([]Machine, len(w))
	for i, rows := range w {
		m, err := create(Config{Processes: len(w), Ranks: len(slices.Concat(w...)), Sorters: len(w)}, i, rows)
		if err != nil {
			return nil
		}
		machines[i] = m
	}
	require.NoError(t, Run(parallel, exchange, machines))
	if r, is := machines[0].(*Ranges); is && r.Err() != nil {
		return nil
	}
	return func(c Costs) float64 {
		most, all := 0.0, 0
		for i, m := range machines {
			most = max(most, 2*float64(m.Stats().Messages)*c.Message+float64(exchange.received[i])*c.Byte)
			all += exchange.received[i]
		}
		return float64(exchange.turns-1)*c.Latency + most + float64(all)/float64(len(w))*c.Trunk
	}
}

// makeSort makes a sort with p sorters.
func makeSort(p int) maker {
	return func(c Config, process int, rows []Row) (solver, error) {
		c.Sorters = p
		return NewParallel(c, process, rows)
	}
}

// Auto takes a scan longer than the best algorithm alone, and never twice as long, on a
// cluster and on a tree, where processors take no time.
func TestAutoIsNearTheBest(t *testing.T) {
	const processes = 64
	alone := []maker{makeRanges, makeHash, makeQuick}
	for p := 1; p <= processes; p *= 2 {
		alone = append(alone, makeSort(p))
	}
	random := func(rank int) uint32 { return uint32(mix(uint64(rank)) >> 40) }
	for _, each := range []int{1, 4, 16, 128} {
		ranks := each * processes
		for name, color := range map[string]func(rank int) uint32{
			"one class":   func(int) uint32 { return 0 },
			"16 classes":  func(rank int) uint32 { return random(rank) % 16 },
			"small ones":  func(rank int) uint32 { return random(rank) % uint32(ranks/2) },
			"half in one": func(rank int) uint32 { return random(rank) % uint32(ranks/2) * uint32(rank%2) },
			"columns":     func(rank int) uint32 { return uint32(rank % 16) },
			"ranges":      func(rank int) uint32 { return uint32(rank * 16 / ranks) },
			"one astray":  func(rank int) uint32 { return uint32(max(rank, ranks-1-rank) / (ranks - 1) * 7 * ranks) },
		} {
			w := make(world, processes)
			for rank := range ranks {
				key := int32(0)
				if name == "one class" || name == "16 classes" {
					key = int32(random(rank))
				}
				w[rank/each] = append(w[rank/each], NewRow(color(rank), key, uint32(rank)))
			}
			var prices []func(Costs) float64
			for _, create := range alone {
				if price := priced(t, w, create); price != nil {
					prices = append(prices, price)
				}
			}
			for where, c := range map[string]Costs{"cluster": DefaultCosts(), "tree": TreeCosts(processes)} {
				c.Row, c.Search, c.Settle = 0, 0, 0
				best := math.Inf(1)
				for _, price := range prices {
					best = min(best, price(c))
				}
				auto := priced(t, w, func(config Config, process int, rows []Row) (solver, error) {
					return NewAuto(config, c, process, rows)
				})(c)
				what := fmt.Sprintf("%s, %d ranks each, %s", where, each, name)
				require.LessOrEqual(t, auto, 2*best, what)
				require.LessOrEqual(t, auto, 1.1*best+c.scan(processes), what)
			}
		}
	}
}

// The number of sorters that is chosen is nearly the best of all that were carried
// out, whatever is dear.
func TestSortersChosenAreNearlyTheBest(t *testing.T) {
	const processes, each = 64, 256
	w := make(world, processes)
	for i := range w {
		for j := range each {
			rank := uint32(i*each + j)
			w[i] = append(w[i], NewRow(0, int32(mix(uint64(rank))), rank))
		}
	}
	prices := map[int]func(Costs) float64{}
	for p := 1; p <= processes; p *= 2 {
		prices[p] = priced(t, w, makeSort(p))
	}
	shape := Shape{Processes: processes, Rows: processes * each, Items: processes * each, Largest: processes * each}
	for name, c := range map[string]Costs{
		"latency":  {Latency: 1e6, Message: 300, Byte: 0.8},
		"messages": {Latency: 100, Message: 1e4, Byte: 1},
		"default":  {Latency: 2000, Message: 300, Byte: 0.8},
		"some":     {Latency: 2000, Message: 300, Byte: 4},
		"bytes":    {Latency: 2000, Message: 300, Byte: 30},
		"only":     {Latency: 100, Message: 10, Byte: 100},
	} {
		plan := c.Choose(shape, processes)
		require.Equal(t, BySort, plan.Method, name)
		least := math.Inf(1)
		for _, price := range prices {
			least = min(least, price(c))
		}
		require.LessOrEqual(t, prices[plan.Sorters](c), 1.1*least, "%s: %d sorters", name, plan.Sorters)
	}
}
