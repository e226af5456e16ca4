// Package scale models start-up at sizes that this machine cannot hold. It runs
// golaunch's own rules (the cuts of ranges, the window of handshakes, hedging, gathers)
// in a discrete-event model, with costs that were measured, and writes
// docs/results/scale.md with its tables and pictures.
//
// With -measure it first runs golaunch on a test cluster in several sizes, fits the
// costs to some of them and writes docs/results/scale.json. Without, it takes the costs
// from there, and its page is the same on every machine; with -fit it fits them again
// to the points there.
package scale

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// settings choose the computations.
type settings struct {
	results.Frame
	data  string
	sizes []int // nodes of the curves
	ranks int   // per node, of the curves
	trial []int // nodes of the table of degrees

	sweeps map[time.Duration]sweep // those that were made, by hop
	*measured
}

// exchangeBytes is the length of a rank's value for others: an address as MPI libraries
// have it, with its key.
const exchangeBytes = 120

// hops are the one-way delays between nodes: a rack, a campus, continents.
var hops = []time.Duration{50 * time.Microsecond, time.Millisecond, 50 * time.Millisecond}

// Run runs the model, measures what it needs if asked, and writes its page.
func Run(ctx context.Context, f *results.Flags) error {
	s := settings{
		sizes: []int{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}, ranks: 64,
		trial:  []int{64, 512, 4096, 65536},
		sweeps: map[time.Duration]sweep{},
	}
	f.Out, f.Runs = "docs/results/scale.md", 3
	f.StringVar(&s.data, "data", "docs/results/scale.json", "`file` of what was measured")
	again := f.Bool("measure", false, "measure on a test cluster first; needs root and bin/golaunch")
	refit := f.Bool("fit", false, "fit the costs again to what was measured")
	var e effort
	f.DurationVar(&e.time, "time", 10*time.Minute, "for how long sizes are measured")
	f.IntVar(&e.most, "most", 128, "nodes of the largest size that is measured")
	quick := f.Bool("quick", false, "small sizes, for a look")
	if err := f.Parse(); err != nil {
		return err
	}
	s.Frame, e.runs = f.Frame, f.Runs
	if *quick {
		s.sizes, s.trial = []int{1, 4, 16, 64}, []int{16, 64}
	}
	var err error
	if *again {
		s.measured, err = measureAll(ctx, e)
	} else {
		s.measured, err = readMeasured(s.data)
	}
	if err == nil && *again { // kept, also if the fit fails
		err = s.write(s.data)
	}
	if err == nil && (*again || *refit) {
		if s.Costs, err = fit(s.measured); err == nil {
			err = s.write(s.data)
		}
	}
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a run makes millions of small things
	var page strings.Builder
	preamble(&page, s)
	for _, part := range []func(*strings.Builder, settings) error{validation, curves, laws, loads, degrees, windows, accidents, thesis} {
		if err := part(&page, s); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.Write(page.String())
}

// measureAll makes all measurements: on a cluster, and in this process.
func measureAll(ctx context.Context, e effort) (*measured, error) {
	m, err := measure(ctx, e)
	if err == nil {
		err = micro(ctx, &m.Costs)
	}
	return m, err
}
