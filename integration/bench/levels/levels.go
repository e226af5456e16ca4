// Command levels maps periodic grids of ranks onto allocations of a Cray XC, as
// [Sahoo] did with LAMMPS, and writes docs/results/mapping-levels.md: what each map
// leaves to each level, the time of the rank that communicates longest, the choice of
// the mapping depth. All but the times that the page calls measured are the same on
// every machine.
package main

import (
	"context"
	"flag"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func main() { results.Main("levelbench", bench) }

func bench(_ context.Context, args []string) error {
	f := flag.NewFlagSet("levelbench", flag.ContinueOnError)
	out := f.String("o", "docs/results/mapping-levels.md", "`file` to write")
	quick := f.Bool("quick", false, "small jobs only, for a look")
	if err := results.Parse(f, args); err != nil {
		return err
	}
	if *quick {
		grids = grids[:4]
	}
	var page strings.Builder
	preamble(&page, args)
	for _, part := range []func(*strings.Builder) error{volumes, jobs, profiles, shares, depths, durations} {
		if err := part(&page); err != nil {
			return err
		}
	}
	return results.Write(*out, page.String())
}
