// Package rankfile reads files that say for each rank on which host, and on which
// of its CPUs, it runs: Open MPI's rank files, and a plainer form. The package is
// pure: package placement finds the hosts, and their agents the CPUs.
//
// A line is one of
//
//	rank 0=n001 slot=1:0-2      Open MPI's form
//	rank 1=+n2                  on the third host of the job
//	2 n001                      the plain form
//	3-5,8 n002 slot=0-3         several ranks, each on all of these CPUs
//
// What slot= names binding.ParseSlots reads: CPUs, or cores of a socket. Comments
// begin with #.
package rankfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/placement/binding"
)

// Limits of what is read.
const (
	MaxRanks = 1 << 20 // ranks of a file
	maxLine  = 1 << 20 // bytes of a line
	maxHost  = 1 << 16 // highest number of a host
	maxShown = 40      // bytes that an error repeats
)

// File is what a rank file says.
type File struct {
	Name  string
	Lines []Line
	Of    []int32 // the position in Lines of each rank's line
}

// Line is a line that places ranks.
type Line struct {
	Number int    // in the file, from 1
	Host   string // "" where it is Index
	Index  int    // of the host among those of the job, in the user's order
	Slots  string // the CPUs of each of its ranks, for binding.ParseSlots; "" for none of their own
}

// Line is the line of a rank.
func (f *File) Line(rank int) *Line { return &f.Lines[f.Of[rank]] }

// Pos is where a rank's line is, for errors.
func (f *File) Pos(rank int) string { return f.at(f.Line(rank).Number) }

// Slots are the CPUs of the ranks for which the file names some, as binding.ParseSlots
// reads them; nil if there are none.
func (f *File) Slots() map[job.Rank]string {
	var slots map[job.Rank]string
	for rank := range f.Of {
		if text := f.Line(rank).Slots; text != "" {
			if slots == nil {
				slots = map[job.Rank]string{}
			}
			slots[job.Rank(rank)] = text
		}
	}
	return slots
}

func (f *File) at(line int) string { return fmt.Sprintf("%s:%d", f.Name, line) }

// Parse reads a rank file; name is its name in errors, which begin with
// "name:line:". Every rank from 0 to the highest has to have a line, and no more
// than one.
func Parse(r io.Reader, name string) (*File, error) {
	f := &File{Name: name}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	number := 0
	for in.Scan() {
		number++
		text, _, _ := strings.Cut(strings.TrimPrefix(in.Text(), "\ufeff"), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := f.line(text, number); err != nil {
			return nil, fmt.Errorf("%s: %w", f.at(number), err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: line of more than %d bytes", f.at(number+1), maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.at(number+1), err)
	case len(f.Lines) == 0:
		return nil, fmt.Errorf("%s: places no rank; a line is such as rank 0=n001", name)
	}
	for rank, line := range f.Of {
		if line < 0 {
			return nil, fmt.Errorf("%s: the file ends here, and rank %d has no line, but rank %d has", f.at(number), rank, len(f.Of)-1)
		}
	}
	return f, nil
}

// line reads a line.
func (f *File) line(text string, number int) error {
	terms := strings.Split(text, "=")
	for i := range terms {
		terms[i] = strings.TrimSpace(terms[i])
	}
	fields := strings.Fields(strings.Join(terms, "="))
	var ranks, host string
	if strings.EqualFold(fields[0], "rank") && len(fields) > 1 {
		ranks, host, _ = strings.Cut(fields[1], "=")
	} else if ranks = fields[0]; len(fields) > 1 {
		host = fields[1]
	}
	if strings.Contains(ranks, "=") || host == "" || strings.Contains(host, "=") || len(fields) > 3 {
		return fmt.Errorf("%s: expected a line such as rank 0=n001 slot=0:0-3, or 0 n001", shown(text))
	}
	line := Line{Number: number, Host: host}
	if index, ok := strings.CutPrefix(host, "+n"); ok {
		n, err := numberOf(index, "the number of a host after +n", maxHost)
		if err != nil {
			return err
		}
		line.Host, line.Index = "", n
	}
	if len(fields) == 3 {
		key, value, _ := strings.Cut(fields[2], "=")
		if key != "slot" && key != "slots" {
			return fmt.Errorf("%s: expected slot= and CPUs", shown(fields[2]))
		}
		line.Slots = strings.Trim(value, `"`)
		if _, err := binding.ParseSlots(line.Slots); err != nil {
			return fmt.Errorf("slot=: %w", err)
		}
	}
	f.Lines = append(f.Lines, line)
	for part := range strings.SplitSeq(ranks, ",") {
		first, last, err := span(part, "a rank", MaxRanks-1)
		if err != nil {
			return err
		}
		if err := f.take(first, last); err != nil {
			return err
		}
	}
	return nil
}

// take gives ranks to the last line.
func (f *File) take(first, last int) error {
	for len(f.Of) <= last {
		f.Of = append(f.Of, -1)
	}
	for rank := first; rank <= last; rank++ {
		if f.Of[rank] >= 0 {
			return fmt.Errorf("rank %d has line %d already", rank, f.Line(rank).Number)
		}
		f.Of[rank] = int32(len(f.Lines) - 1)
	}
	return nil
}

// span reads a number, or two with a dash between them.
func span(text, what string, most int) (first, last int, err error) {
	low, high, ok := strings.Cut(text, "-")
	if first, err = numberOf(low, what, most); err != nil || !ok {
		return first, first, err
	}
	if last, err = numberOf(high, what, most); err == nil && last < first {
		err = fmt.Errorf("%s: it ends before it begins", shown(text))
	}
	return first, last, err
}

func numberOf(text, what string, most int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > uint64(most) {
		return 0, fmt.Errorf("%s: expected %s, 0 to %d", shown(text), what, most)
	}
	return int(n), nil
}

// shown quotes text, cut if it is long.
func shown(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return strconv.Quote(text)
}
