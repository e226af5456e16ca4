// Package results is the frame of the commands that measure and write a page of
// docs/results: how they end, what their lists look like, where pages go.
package results

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Main runs a command with the arguments of the process and exits with status 1
// where it fails, having said why. The context ends with SIGINT and SIGTERM, so
// that a cluster is taken down.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) { // which has been shown
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
		os.Exit(1)
	}
}

// Parse parses the arguments of a command that takes nothing but flags.
func Parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("stray argument %q", f.Arg(0))
	}
	return nil
}

// Write writes a page to a file, in folders made for it, or to standard output
// where the file's name is empty or -.
func Write(file, page string) error {
	if file == "" || file == "-" {
		_, err := fmt.Print(page)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// Parts reads the value of -parts, a list of names with commas between them; all of
// them where it is empty.
func Parts(list string, all []string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-parts: %q is none of %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// Numbers reads the value of a flag, a list like "8,32,64", each at least least.
func Numbers(flag, list string, least int) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least {
			return nil, fmt.Errorf("-%s %q: not a list of numbers from %d on", flag, list, least)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
