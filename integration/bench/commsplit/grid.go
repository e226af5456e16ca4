package commsplit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/commsplit"
)

// gridProcesses compute the splits of the grid, all of them carried out; with
// gridMost ranks, each is carried out the fewest times.
const (
	gridProcesses = 256
	gridMost      = 64 << 10
)

// order is a way to deal out colours to ranks.
type order string

const (
	scattered order = "scattered"       // at random, with keys at random; everywhere else these are 0
	ranges    order = "ranges"          // rising with the ranks
	astray    order = "one astray"      // ranges, but two ranks have each other's place
	some      order = "1 % astray"      // ranges, but for one rank in a hundred, anywhere
	permuted  order = "blocks permuted" // ranges, but processes hold the ranks of others
	cyclic    order = "cyclic"          // the columns of a grid of processes
)

// kind is a split of the grid.
type kind struct {
	ranks, colors int
	skewed        bool // half of the ranks are of one colour
	order         order
}

func (k kind) String() string {
	sizes := "even"
	if k.skewed {
		sizes = "half in one"
	}
	return fmt.Sprintf("%d | %d | %s | %s", k.ranks, k.colors, sizes, k.order)
}

// row returns the row of a rank.
func (k kind) row(rank int) commsplit.Row {
	x, key, at := random(uint64(rank)), int32(0), rank
	if two := [2]int{k.ranks / 5, k.ranks * 4 / 5}; k.order == astray && slices.Contains(two[:], rank) {
		at = two[0] + two[1] - rank
		key = int32(at - rank) // the order shows in one colour, too
	}
	if k.order == some && x%100 == 0 {
		at, key = int(x>>32)%k.ranks, int32(x)
	}
	color := at * k.colors / k.ranks
	switch {
	case k.order == scattered:
		color, key = int(x>>40)%k.colors, int32(x)
		if k.skewed && x&1 == 0 {
			color = 0
		}
	case k.order == cyclic:
		color = rank % k.colors
	case k.skewed && at < k.ranks/2:
		color = 0
	}
	return commsplit.NewRow(uint32(color), key, uint32(rank))
}

func (k kind) rows() [][]commsplit.Row {
	world := make([][]commsplit.Row, gridProcesses)
	for i := range k.ranks {
		p := i * gridProcesses / k.ranks
		if k.order == permuted {
			p = (p*101 + 7) % gridProcesses // 101 has no divisor in common with it
		}
		world[p] = append(world[p], k.row(i))
	}
	return world
}

func grid() []kind {
	var list []kind
	for _, ranks := range []int{gridProcesses, 4 * gridProcesses, 16 * gridProcesses, 128 * gridProcesses} {
		for _, colors := range []int{1, 16, ranks / 16, ranks / 2} {
			for _, order := range []order{scattered, ranges, astray, some, permuted, cyclic} {
				for _, skewed := range []bool{false, true} {
					k := kind{ranks, colors, skewed, order}
					switch {
					case slices.Contains(list, k), colors == 1 && (skewed || order == cyclic),
						skewed && order != scattered && order != ranges:
					default:
						list = append(list, k)
					}
				}
			}
		}
	}
	return list
}

// gridTable compares auto with each algorithm alone, in splits of the grid.
func gridTable(page *strings.Builder, s settings, kinds []kind) error {
	costs := commsplit.DefaultCosts()
	fmt.Fprintf(page, `
%d processes, all carried out; rounds, messages and bytes at the prices of
DefaultCosts (2 µs, 300 ns, 0.8 ns). Auto merges few ranks in place at once; else it
includes its survey, a scan, which is what the ranges take alone. Orders: scattered has
keys at random, all others 0. Ranges: colours rise with the ranks; of these, one astray
has two ranks in each other's place, 1 %% astray one rank in a hundred somewhere else, and
in blocks permuted processes hold the ranks of others. Cyclic: rank modulo colours, the
columns of a grid (its rows are ranges).

`, gridProcesses)
	fmt.Fprintf(page, "| ranks | colours | sizes | order | auto | chose | best alone | which | auto/best |\n|---|---|---|---|---|---|---|---|---|\n")
	var ratios []float64
	for _, k := range kinds {
		if k.ranks > s.grid {
			continue
		}
		auto, best, err := compare(k, costs, s.Runs)
		if err != nil {
			return err
		}
		ratio := float64(auto.cost()) / float64(best.cost())
		ratios = append(ratios, ratio)
		fmt.Fprintf(page, "| %v | %.0f µs | %s | %.0f µs | %s | %.2f |\n", k, micros(auto.cost()), auto.chose, micros(best.cost()), best.chose, ratio)
	}
	page.WriteString(summary(ratios))
	return nil
}

// summary sums up the ratios of a table, to two digits as it has them.
func summary(ratios []float64) string {
	if len(ratios) == 0 {
		return ""
	}
	slices.Sort(ratios)
	const most = 2
	beyond, _ := slices.BinarySearch(ratios, most+0.005)
	return fmt.Sprintf("\nOf %d splits %d take more than %d times the best; the worst is %.2f, the median %.2f.\n",
		len(ratios), len(ratios)-beyond, most, ratios[len(ratios)-1], ratios[len(ratios)/2])
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
