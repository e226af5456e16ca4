package dialects

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/job"
)

// srun's file of programs, --multi-prog, has lines of ranks, a program and its
// arguments, in which %t is the rank and %o its position among those of the line:
//
//	0      ./head
//	1-3,5  ./work part%o
//	*      ./rest

// program is a line of such a file.
type program struct {
	number int    // of the line
	ranks  []span // nil is all that no other line names
	argv   []string
}

// span are numbers, of ranks mostly, from first to last.
type span struct{ first, last int }

// readPrograms reads a file of programs.
func readPrograms(r io.Reader, name string) ([]program, error) {
	var list []program
	err := logicalLines(r, name, func(number int, text string) error {
		words, err := splitWords(text)
		one := program{number: number}
		if err == nil && len(words) < 2 {
			err = fmt.Errorf("%q: it has no program after the ranks", text)
		}
		if err == nil && words[0] != "*" {
			one.ranks, err = readSpans(words[0])
		}
		if err == nil && words[0] == "*" && slices.ContainsFunc(list, func(p program) bool { return p.ranks == nil }) {
			err = fmt.Errorf("a second line for all other ranks")
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		one.argv = words[1:]
		if list = append(list, one); len(list) > mostApps {
			return fmt.Errorf("%s:%d: more than %d lines", name, number, mostApps)
		}
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: it has no programs", name)
	}
	return list, err
}

// readSpans reads ranks such as 0-3,8.
func readSpans(text string) ([]span, error) {
	var spans []span
	for part := range strings.SplitSeq(text, ",") {
		s, ok := readSpan(part)
		if !ok {
			return nil, fmt.Errorf("%q is not a list of ranks such as 0-3,8, or *", text)
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// readSpan reads numbers such as 0-3, or a single one.
func readSpan(text string) (s span, ok bool) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err := strconv.ParseUint(low, 10, 24)
	last, err2 := strconv.ParseUint(high, 10, 24)
	return span{int(first), int(last)}, err == nil && err2 == nil && first <= last
}

// piece are consecutive ranks with a program.
type piece struct {
	span
	line   *program
	offset int // of the first among the ranks of the line
}

// pieces are the ranks of the programs in order: n of them, or without n those that the
// file names.
func pieces(list []program, n int) ([]piece, error) {
	var all []piece
	var rest *program
	for i := range list {
		p := &list[i]
		offset := 0
		for _, s := range p.ranks {
			all = append(all, piece{s, p, offset})
			offset += s.last - s.first + 1
		}
		if p.ranks == nil {
			rest = p
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	if n == 0 {
		for _, p := range all {
			n = max(n, p.last+1)
		}
	}
	var filled []piece
	next, offset := 0, 0
	gap := func(until int) error {
		switch {
		case next >= until:
			return nil
		case rest == nil:
			return fmt.Errorf("no line has rank %d", next)
		}
		filled = append(filled, piece{span{next, until - 1}, rest, offset})
		offset += until - next
		next = until
		return nil
	}
	for _, p := range all {
		if p.first < next {
			return nil, fmt.Errorf("line %d has rank %d, which another line has, too", p.line.number, p.first)
		}
		if p.last >= n {
			return nil, fmt.Errorf("line %d has rank %d, and there are %d", p.line.number, p.last, n)
		}
		if err := gap(p.first); err != nil {
			return nil, err
		}
		filled, next = append(filled, p), p.last+1
	}
	return filled, gap(n)
}

// programApps makes apps like one of the programs of a file.
func programApps(like job.App, list []program) ([]job.App, error) {
	found, err := pieces(list, like.N)
	if err != nil {
		return nil, err
	}
	var apps []job.App
	for _, p := range found {
		each := slices.ContainsFunc(p.line.argv, func(a string) bool { return strings.Contains(a, "%t") || strings.Contains(a, "%o") })
		app := like
		app.N, app.Argv = p.last-p.first+1, p.line.argv
		if !each {
			apps = append(apps, app)
			continue
		}
		if len(apps)+app.N > mostApps {
			return nil, fmt.Errorf("line %d: more than %d ranks with arguments of their own; have the program read PMI_RANK", p.line.number, mostApps)
		}
		for i := range app.N {
			one := like
			one.N, one.Argv = 1, nil
			own := strings.NewReplacer("%t", strconv.Itoa(p.first+i), "%o", strconv.Itoa(p.offset+i))
			for _, a := range p.line.argv {
				one.Argv = append(one.Argv, own.Replace(a))
			}
			apps = append(apps, one)
		}
	}
	return apps, nil
}

// Programs puts the programs of srun's file in the place of the file, which stands where
// the program of the one app does.
func Programs(apps []job.App, m machine.Machine) ([]job.App, error) {
	if len(apps) > 1 || len(apps[0].Argv) > 1 {
		return nil, fmt.Errorf("--multi-prog: %w", errTwice)
	}
	name := apps[0].Argv[0]
	list, err := openFile(m, name, readPrograms)
	if err != nil {
		return nil, fmt.Errorf("--multi-prog: %w", err)
	}
	if apps, err = programApps(apps[0], list); err != nil {
		return nil, fmt.Errorf("--multi-prog: %s: %w", name, err)
	}
	return apps, nil
}
