// Package xrcsim counts the InfiniBand connections of MPI jobs by package xrcsim,
// beside the figures of [Sridhar 4], simulates their handshakes, and writes
// docs/results/xrcsim.md. Nothing in it is measured: it gives the same figures on any
// machine.
package xrcsim

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/xrcsim"
	"github.com/golaunch/golaunch/xrcsim/workload"
)

// Run counts and simulates the connections and writes the page of them.
func Run(_ context.Context, f *results.Flags) error {
	f.Out = "docs/results/xrcsim.md"
	if err := f.Parse(); err != nil {
		return err
	}
	var page strings.Builder
	page.WriteString(f.Head("InfiniBand connections of MPI jobs") +
		"Counts and simulations of [the model](../simulators.md#xrcsim); nothing is measured. Ranks are on nodes in blocks. A mean\n" +
		"with brackets is followed by the least and the most of a process.\n")
	for _, write := range []func(*strings.Builder) error{fullyConnected, benchmarks, sizes, gigabyte} {
		if err := write(&page); err != nil {
			return err
		}
	}
	if err := growth(&page, f.Beside("plots")); err != nil {
		return err
	}
	if err := handshakes(&page); err != nil {
		return err
	}
	if err := sending(&page); err != nil {
		return err
	}
	return f.Write(page.String())
}

// counted returns a point for each transport.
func counted(word string, ranks, ppn int, p xrcsim.Parameters, transports ...xrcsim.Transport) ([]xrcsim.Point, error) {
	sources, err := workload.Parse(word)
	if err != nil {
		return nil, err
	}
	program, err := sources[0].Peers(ranks)
	if err != nil {
		return nil, err
	}
	j, err := xrcsim.NewJob(ranks, ppn)
	if err != nil {
		return nil, err
	}
	return xrcsim.Count(j, xrcsim.Workload{Name: word, Program: program, Setup: workload.Collectives(ranks)}, p, transports)
}

// spreadText renders a mean, with the least and the most where they differ.
func spreadText(s xrcsim.Spread) string {
	mean := number(s.Average)
	if s.Minimum == s.Maximum {
		return mean
	}
	return fmt.Sprintf("%s (%s, %s)", mean, number(s.Minimum), number(s.Maximum))
}

// number renders up to three decimals.
func number(x float64) string {
	text := strings.TrimRight(strconv.FormatFloat(x, 'f', 3, 64), "0")
	return strings.TrimSuffix(text, ".")
}

// bytesText renders a number of bytes in the unit that suits it.
func bytesText(x float64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	i := 0
	for ; x >= 1000 && i < len(units)-1; i++ {
		x /= 1024
	}
	return fmt.Sprintf("%.3g %s", x, units[i])
}
