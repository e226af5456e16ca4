// Package commsplit reproduces the experiment of [Sack 2.4]: the processor time of one
// process in MPI_Comm_split, for the conventional algorithm, for merging in place and
// for the parallel sort with 2 to 64 sorting processes, phase by phase, the process
// that takes longest. With -what, it measures auto's choices beside the algorithms
// alone, or splits and look-ups on the tree of a test cluster.
//
// It writes a page for docs/results/. Time is the thread's processor time, one
// process at a time, so other programs disturb it little; but they share caches
// and memory, and for figures to be quoted the machine should be idle.
package commsplit

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings choose the measurements.
type settings struct {
	sizes   []int // ranks
	sorters []int
	small   int    // ranks of the table with small communicators
	grid    int    // most ranks in the table of choices
	what    string // "sort", "auto" or "tree"
	nodes   []int  // of the test cluster
	results.Frame
}

// Run measures and writes the page of it.
func Run(ctx context.Context, f *results.Flags) error {
	s, err := parse(f)
	if err != nil {
		return err
	}
	// Processor time is a thread's, and no collector's work may be charged to it.
	runtime.LockOSThread()
	var page strings.Builder
	if s.what == "tree" {
		if err := onTree(ctx, &page, s); err != nil {
			return err
		}
		return s.Write(page.String())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if err := write(&page, s); err != nil {
		return err
	}
	return s.Write(page.String())
}

func parse(f *results.Flags) (settings, error) {
	var s settings
	f.Runs = 5
	sizes := f.String("n", "8M,16M,32M,64M,128M", "`list` of ranks, powers of two; 36 bytes of memory for each of the largest")
	sorters := f.String("p", "2,4,8,16,32,64", "`list` of sorting processes, powers of two")
	small := f.String("small", "8M", "`ranks` of the table with small communicators")
	grid := f.String("grid", "32K", "most `ranks` in the table of choices")
	nodes := f.String("nodes", "4,16,32", "`list` of sizes of the test cluster, for -what tree")
	f.StringVar(&s.what, "what", "sort", "the measurement: sort, the experiment; auto, its choices; tree, splits and look-ups on a test cluster")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.Frame = f.Frame
	if !slices.Contains([]string{"sort", "auto", "tree"}, s.what) {
		return s, fmt.Errorf("-what %q: want sort, auto or tree", s.what)
	}
	var err error
	if s.sizes, err = counts(*sizes); err != nil {
		return s, err
	}
	if s.sorters, err = counts(*sorters); err != nil {
		return s, err
	}
	if s.nodes, err = results.Numbers("nodes", *nodes, 2); err != nil {
		return s, err
	}
	for text, n := range map[string]*int{*small: &s.small, *grid: &s.grid} {
		list, err := counts(text)
		if err != nil {
			return s, err
		}
		*n = list[0]
	}
	return s, nil
}

// counts reads powers of two, as "8M,16M" or "64".
func counts(text string) ([]int, error) {
	var list []int
	for word := range strings.SplitSeq(text, ",") {
		digits, unit := strings.TrimSuffix(word, "M"), 1
		if digits != word {
			unit = 1 << 20
		} else if digits = strings.TrimSuffix(word, "K"); digits != word {
			unit = 1 << 10
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n&(n-1) != 0 || n > 1<<32/unit {
			return nil, fmt.Errorf("%q is no power of two like 64, 32K or 8M", word)
		}
		list = append(list, n*unit)
	}
	return list, nil
}
