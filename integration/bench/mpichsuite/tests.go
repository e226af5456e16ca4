package mpichsuite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is a program with its judge.
type test struct {
	name  string
	ours  bool // else MPICH's
	ranks int
	slots bool // for hosts with as many slots as the cluster has nodes, in all
	argv  []string
	limit time.Duration
	// judge names a fault of the output or the exit status, or "".
	judge func(said string, code int) string
}

// usualLimit is the base of the list's times.
const usualLimit = 3 * time.Minute

// parseList reads a list of tests: lines of a program, its number of ranks and
// more. A program without errors prints " No Errors" alone.
func parseList(list, only string, limit time.Duration) (tests []test, err error) {
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || !strings.HasPrefix(line, only) {
			continue
		}
		if len(words) < 2 {
			return nil, fmt.Errorf("list of tests: %q: no number of ranks", strings.TrimSpace(line))
		}
		ranks, err := strconv.Atoi(words[1])
		if err != nil || ranks < 1 {
			return nil, fmt.Errorf("list of tests: %q: bad number of ranks", strings.TrimSpace(line))
		}
		t := test{name: words[0] + " " + words[1], ranks: ranks, argv: []string{"./" + words[0]}, limit: limit, judge: noErrors}
		for _, word := range words[2:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "timeLimit":
				seconds, err := strconv.Atoi(value)
				if err != nil {
					return nil, fmt.Errorf("list of tests: %q: bad time limit", strings.TrimSpace(line))
				}
				t.limit = limit * time.Duration(seconds) / (usualLimit / time.Second)
			case "arg":
				t.argv = append(t.argv, value)
			default:
				return nil, fmt.Errorf("list of tests: %q: %s is not understood", strings.TrimSpace(line), key)
			}
		}
		tests = append(tests, t)
	}
	if only != "" && len(tests) == 0 {
		return nil, fmt.Errorf("-only %q: no line of the list of tests begins so", only)
	}
	return tests, nil
}

// noErrors judges as MPICH's runtests does, but for the words of launchers: golaunch's
// on standard error, Hydra's on standard output.
func noErrors(said string, code int) string {
	text := ""
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "[mpiexec@") {
			text += line
		}
	}
	switch {
	case code != 0:
		return fmt.Sprintf("exit status %d", code)
	case strings.TrimRight(text, "\n") != " No Errors":
		return "more or less than \" No Errors\""
	}
	return ""
}

// ours are the tests of native/programs/mpispawn.c, here built as program.
func ours(program string, limit time.Duration) []test {
	lines := func(want int, line string, status int) func(string, int) string {
		return func(said string, code int) string {
			got := 0
			for l := range strings.Lines(said) {
				if l == line+"\n" || strings.HasPrefix(l, "rank ") && strings.HasSuffix(l, ": "+line+"\n") {
					got++
				}
			}
			switch {
			case code != status:
				return fmt.Sprintf("exit status %d, not %d", code, status)
			case got != want:
				return fmt.Sprintf("%d times %q, not %d", got, line, want)
			}
			return ""
		}
	}
	all := []test{
		{name: "spawn of what does not exist", ranks: 3, argv: []string{"refused", "/no/such", "2"}, judge: lines(3, "refused", 0)},
		{name: "spawn of more than there are slots", ranks: 3, slots: true, argv: []string{"refused", program, "100"}, judge: lines(3, "refused", 0)},
		{name: "of what does not exist, by one rank that ignores error codes", ranks: 1, argv: []string{"alone", "/no/such"}, judge: lines(1, "refused", 0)},
		{name: "spawned world parts, exits with 3", ranks: 1, argv: []string{"parts"}, judge: lines(1, "goes on", 3)},
		{name: "spawning world parts, exits with 3", ranks: 1, argv: []string{"leaves"}, judge: lines(1, "goes on", 3)},
	}
	for i := range all {
		all[i].ours, all[i].limit, all[i].argv = true, limit, slices.Concat([]string{program}, all[i].argv)
	}
	return all
}
