// Package mapping maps the ranks of known programs to known networks by package
// network/placement/mapping, beside scotch_gmap where it is installed and beside quoted
// figures of other mappers. It writes docs/results/mapping.md.
//
// Hop-bytes are not measured: they are the same on any machine, busy or not.
// Processor times are.
package mapping

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/network/commgraph"
)

// parts are the sections in their order. The large one comes before those that take
// memory.
var parts = []struct {
	name  string
	write func(*run) error
}{
	{"large", large},
	{"known", known},
	{"programs", programs},
	{"random", random},
	{"grids", grids},
}

// run has the page and the data of all parts.
type run struct {
	context.Context
	data  string // the folder of the graphs
	seeds int
	page  strings.Builder
}

func (r *run) printf(format string, args ...any) { fmt.Fprintf(&r.page, format, args...) }

// Run maps the graphs and writes the page of them.
func Run(ctx context.Context, f *results.Flags) error {
	f.Out = "docs/results/mapping.md"
	data := f.String("data", "../shared/data", "`folder` of the graphs")
	seeds := f.Int("seeds", 20, "`number` of random geometric graphs")
	only := f.String("parts", "", "`list` of parts to work out, else all: "+strings.Join(names(), ", "))
	if err := f.Parse(); err != nil {
		return err
	}
	chosen, err := results.Parts(*only, names())
	if err != nil {
		return err
	}
	r := &run{Context: ctx, data: *data, seeds: *seeds}
	r.printf("%s%s\n%s\n", f.Head("Mappings of ranks to networks"), preface, scotchIs(ctx))
	for _, p := range parts {
		if slices.Contains(chosen, p.name) {
			if err := p.write(r); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return f.Write(r.page.String())
}

func names() []string {
	var list []string
	for _, p := range parts {
		list = append(list, p.name)
	}
	return list
}

const preface = `Hop-bytes: the sum over all pairs of ranks that communicate, each once, of weight times distance. On tori the distance
is in links between routers, on trees and dragonflies in links, those of the hosts too: 2, 4 or 6 in a tree of three
levels, from 2 on in a dragonfly. Ranks are one to a host; the default order is rank *i* on host *i*. Tori are numbered
with the first dimension fastest. The dragonflies are those of [topology.md](../topology.md#networks-in-one-word), with
one cable between each two groups. *Mapped* is the best candidate, *refined* what 300,000,000 steps of refinement make
of it; the seed is 1. Times are processor time. VieM's and TreeMatch's figures are quoted, of VieM 1.0 with its
configurations eco and strong (the better counts) and Open MPI's TreeMatch, on the same graphs and distances.
`

// graph reads a graph of the data folder.
func (r *run) graph(name string) (*commgraph.File, error) {
	in, err := os.Open(filepath.Join(r.data, name))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return commgraph.Read(in, name)
}
