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
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// Limits of files.
const (
	MaxRanks = 1 << 20 // ranks of a file
	maxHost  = 1 << 16 // highest number of a host
)

// File is the content of a rank file.
type File struct {
	Name  string
	Lines []Line
	Of    []int32 // the position in Lines of each rank's line
}

// Line is a line that places ranks.
type Line struct {
	Number int    // in the file, from 1
	Host   string // "" if it has an Index instead
	Index  int    // of the host among those of the job, in the user's order
	Slots  string // the CPUs of each of its ranks, for binding.ParseSlots; "" for none of their own
}

// Line returns the line of a rank.
func (f *File) Line(rank int) *Line { return &f.Lines[f.Of[rank]] }

// Pos returns the position of a rank's line, for errors.
func (f *File) Pos(rank int) string { return fmt.Sprintf("%s:%d", f.Name, f.Line(rank).Number) }

// Slots returns the CPUs of the ranks for which the file names some, as
// binding.ParseSlots reads them; nil if there are none.
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

// Parse reads a rank file; name is its name in errors, which begin with
// "name:line:". Every rank from 0 to the highest has to have a line, and no more
// than one.
func Parse(r io.Reader, name string) (*File, error) {
	f := &File{Name: name}
	in := lines.New(r, name)
	for in.Next() {
		text, _, _ := strings.Cut(strings.TrimPrefix(in.Text(), "\ufeff"), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := f.line(in, text); err != nil {
			return nil, err
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(f.Lines) == 0 {
		return nil, in.At(0, "places no rank; a line is such as rank 0=n001")
	}
	for rank, line := range f.Of {
		if line < 0 {
			return nil, in.Errorf("the file ends here, and rank %d has no line, but rank %d has", rank, len(f.Of)-1)
		}
	}
	return f, nil
}

// line reads text, a line without its comment.
func (f *File) line(in *lines.Reader, text string) error {
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
		return in.Expected(strings.TrimSpace(text), "a line such as rank 0=n001 slot=0:0-3, or 0 n001")
	}
	line := Line{Number: in.Line(), Host: host}
	if index, ok := strings.CutPrefix(host, "+n"); ok {
		n, err := in.Number(index, "the number of a host after +n", maxHost)
		if err != nil {
			return err
		}
		line.Host, line.Index = "", int(n)
	}
	if len(fields) == 3 {
		key, value, _ := strings.Cut(fields[2], "=")
		if key != "slot" && key != "slots" {
			return in.Expected(fields[2], "slot= and CPUs")
		}
		line.Slots = strings.Trim(value, `"`)
		if _, err := binding.ParseSlots(line.Slots); err != nil {
			return in.Errorf("slot=: %w", err)
		}
	}
	f.Lines = append(f.Lines, line)
	for part := range strings.SplitSeq(ranks, ",") {
		first, last, err := span(in, part)
		if err == nil {
			err = f.take(in, first, last)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take gives ranks to the last line.
func (f *File) take(in *lines.Reader, first, last int64) error {
	for int64(len(f.Of)) <= last {
		f.Of = append(f.Of, -1)
	}
	for rank := first; rank <= last; rank++ {
		if f.Of[rank] >= 0 {
			return in.Errorf("rank %d has line %d already", rank, f.Line(int(rank)).Number)
		}
		f.Of[rank] = int32(len(f.Lines) - 1)
	}
	return nil
}

// span reads a rank, or two with a dash between them.
func span(in *lines.Reader, text string) (first, last int64, err error) {
	low, high, ok := strings.Cut(text, "-")
	if first, err = in.Number(low, "a rank", MaxRanks-1); err != nil || !ok {
		return first, first, err
	}
	if last, err = in.Number(high, "a rank", MaxRanks-1); err == nil && last < first {
		err = in.Errorf("%s: it ends before it begins", lines.Show(text))
	}
	return first, last, err
}
