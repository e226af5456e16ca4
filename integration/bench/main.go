// Command bench runs the measurements and trials whose pages are docs/results: "bench"
// lists them, "bench NAME -h" tells the flags of one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/golaunch/golaunch/integration/bench/launcherload"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/overlay"
)

func main() {
	// SIGINT and SIGTERM end the context, so that a cluster is taken down.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) { // the help has been shown
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, words []string, out io.Writer) error {
	switch {
	case overlay.IsAgent(words): // launcherload starts this program as agents
		return launcherload.Branch(words)
	case len(words) == 0:
		list(out)
		return nil
	}
	var names []string
	for _, b := range benches {
		if b.name == words[0] {
			if err := b.run(ctx, results.NewFlags(b.name, words[1:]...)); err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
			return nil
		}
		names = append(names, b.name)
	}
	return fmt.Errorf("there is no %q: want one of %s", words[0], strings.Join(names, ", "))
}

// list writes the table.
func list(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, b := range benches {
		fmt.Fprintf(w, "%s\t%s\n", b.name, b.measures)
	}
	w.Flush()
}
