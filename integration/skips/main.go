// Command skips says in one line how many tests a run left out, and why. It
// reads what "go test -json" wrote, in the files that are named.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(1)
	}
}

func run(names []string, out io.Writer) error {
	total := counts{reasons: map[string]int{}}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = total.add(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err := fmt.Fprintln(out, total)
	return err
}

// event is one line of "go test -json" (go doc test2json).
type event struct{ Action, Package, Test, Output string }

// counts are the tests of some runs, subtests included.
type counts struct {
	passed, failed, skipped int
	reasons                 map[string]int // skipped tests by what they said
}

// skipReason finds the reason that a test gave when it was skipped, behind the file and
// line.
var skipReason = regexp.MustCompile(`(?m)^\s*\S+_test\.go:\d+: (?:skipped: )?(.*)$`)

func (c *counts) add(r io.Reader) error {
	type key struct{ pkg, test string }
	words := map[key]string{}
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("no output of go test -json: %w", err)
		}
		if e.Test == "" {
			continue
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "output":
			words[k] += e.Output
		case "pass":
			c.passed++
		case "fail":
			c.failed++
		case "skip":
			c.skipped++
			reason := "no reason given"
			if all := skipReason.FindAllStringSubmatch(words[k], -1); all != nil {
				reason = strings.TrimSpace(all[len(all)-1][1])
			}
			c.reasons[reason]++
		}
		if e.Action != "output" {
			delete(words, k)
		}
	}
}

func (c counts) String() string {
	s := fmt.Sprintf("%d passed, %d failed, %d skipped", c.passed, c.failed, c.skipped)
	reasons := make([]string, 0, len(c.reasons))
	for r, n := range c.reasons {
		reasons = append(reasons, fmt.Sprintf("%d: %s", n, r))
	}
	slices.Sort(reasons)
	if len(reasons) > 0 {
		s += " (" + strings.Join(reasons, "; ") + ")"
	}
	return s
}
