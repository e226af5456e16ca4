// Package netsim works out the costs of collective operations on known networks, by
// packages netsim and below, beside the figures of the works that they come from. It
// writes docs/results/netsim.md.
//
// Nothing in it is measured, but for times that it calls such: it gives the same
// figures on any machine, busy or not.
package netsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// part is a section of the page.
type part struct {
	name  string
	write func(page *strings.Builder) error
}

// parts returns the sections in their order.
func parts() []part {
	return []part{
		{"contention", contention},
		{"collectives", collectives},
		{"alltoall", writeSubramoni}, // and gather, scatter, broadcast
	}
}

// Run works out the operations and writes the page of them.
func Run(_ context.Context, f *results.Flags) error {
	f.Out = "docs/results/netsim.md"
	only := f.String("parts", "", "`list` of parts to work out, else all: "+strings.Join(names(), ", "))
	if err := f.Parse(); err != nil {
		return err
	}
	chosen, err := results.Parts(*only, names())
	if err != nil {
		return err
	}
	var page strings.Builder
	page.WriteString(strings.TrimSuffix(f.Head("Collective operations on known networks"), "\n"))
	for _, p := range parts() {
		if slices.Contains(chosen, p.name) {
			if err := p.write(&page); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return f.Write(page.String())
}

func names() []string {
	var list []string
	for _, p := range parts() {
		list = append(list, p.name)
	}
	return list
}
