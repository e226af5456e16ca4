// Package levels maps periodic grids of ranks onto allocations of a Cray XC, as [Sahoo]
// did with LAMMPS, and writes docs/results/mapping-levels.md: each map's volume at each
// level, the time of the rank that communicates longest, the choice of the mapping
// depth. All but the times that the page calls measured are the same on every machine.
package levels

import (
	"context"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// Run maps the grids and writes the page of them.
func Run(_ context.Context, f *results.Flags) error {
	f.Out = "docs/results/mapping-levels.md"
	quick := f.Bool("quick", false, "small jobs only, for a look")
	if err := f.Parse(); err != nil {
		return err
	}
	if *quick {
		grids = grids[:4]
	}
	var page strings.Builder
	preamble(&page, f.Frame)
	for _, part := range []func(*strings.Builder) error{volumes, jobs, profiles, shares, depths, durations} {
		if err := part(&page); err != nil {
			return err
		}
	}
	return f.Write(page.String())
}
