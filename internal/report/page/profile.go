package page

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/profile"
)

// maxCalls bounds the rows of the table of collective operations.
const maxCalls = 100

// readProfile reads the file of --profile.
func (in *Inputs) readProfile(file string, data []byte) (string, error) {
	p, err := profile.Read(bytes.NewReader(data), file)
	if err != nil {
		return "", inFile{err}
	}
	command := shown(strings.Join(p.Command, " "))
	for i := range p.Worlds {
		v := &p.Worlds[i]
		title := file
		if v.World > 0 {
			title = fmt.Sprintf("%s, world %d", file, v.World)
		}
		w := &world{
			title: title, about: command, timed: p.Quantity == profile.Time, hosts: shownAll(v.Nodes), names: v.Nodes,
			nodeOf: make([]int32, 0, v.Size), notes: notesOf(v),
		}
		for _, o := range v.NodeOf {
			w.nodeOf = append(w.nodeOf, slices.Repeat([]int32{int32(o.Node)}, o.Count)...)
		}
		sent := slices.Clone(v.Sent)
		if !in.Plain {
			x := v.Expand(profile.LikeMPICH)
			sent = append(sent, x.Sent...)
			if len(x.Algorithms) > 0 {
				w.notes = append(w.notes, "collective operations are drawn as the messages of these algorithms: "+strings.Join(x.Algorithms, ", "))
			}
			w.notes = append(w.notes, x.Notes...)
		}
		sent = profile.Joined(sent)
		w.pairs, w.sent = len(sent), func(yield func([2]int32, amount) bool) {
			for _, s := range sent {
				if !yield([2]int32{s.Source, s.Destination}, amount{s.Messages, s.Bytes, s.Nanoseconds}) {
					return
				}
			}
		}
		if t := calls(title, v, w.timed); t != nil {
			w.tables = append(w.tables, *t)
		}
		in.worlds = append(in.worlds, w)
	}
	first := &p.Worlds[0]
	about := fmt.Sprintf("%s on %s, %s", plural(int64(first.Size), "rank"), plural(int64(len(first.Nodes)), "node"), p.Began.UTC().Format("2006-01-02 15:04:05 UTC"))
	if first.MPI != "" {
		about += ", " + shown(first.MPI)
	}
	return about + ": " + command, nil
}

func shownAll(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = shown(n)
	}
	return all
}

// notesOf lists the gaps in a world's numbers.
func notesOf(v *profile.World) []string {
	var notes []string
	if n := len(v.Missing); n > 0 {
		notes = append(notes, fmt.Sprintf("%s of %d without a profile: their messages are not here", plural(int64(n), "rank"), v.Size))
	}
	if n := len(v.Unfinished); n > 0 {
		notes = append(notes, fmt.Sprintf("%s ended without MPI_Finalize: their numbers are those up to their end", plural(int64(n), "rank")))
	}
	if v.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%s of collective operations found no room in the tables of their ranks", plural(v.Dropped, "call")))
	}
	var outside int64
	for _, o := range v.Outside {
		outside += o.Bytes
	}
	if len(v.Outside) > 0 {
		notes = append(notes, fmt.Sprintf("%s went to other worlds, and are not drawn", bytesText(outside)))
	}
	return notes
}

// calls returns the table of collective operations, nil if there were none.
func calls(title string, v *profile.World, timed bool) *Table {
	if len(v.Collectives) == 0 {
		return nil
	}
	names := []string{"operation", "drawn", "ranks", "root", "calls", "volume"}
	if timed {
		names = append(names, "time of all ranks")
	}
	t := &Table{Caption: "Collective operations, " + title, Columns: columns(2, names...)}
	list := slices.Clone(v.Collectives)
	slices.SortStableFunc(list, func(a, b profile.Collective) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, c := range list[:min(maxCalls, len(list))] {
		root, drawn := "–", "by an algorithm"
		if c.Root >= 0 {
			root = fmt.Sprint(c.Root)
		}
		if c.InSent {
			drawn = "part by part"
		} else if c.Bytes == 0 {
			drawn = "no bytes"
		}
		row := []string{shown(c.Call), drawn, count(int64(v.Communicators[c.Communicator].Size)), root, count(c.Calls), bytesText(c.Bytes)}
		if timed {
			row = append(row, seconds(float64(c.Nanoseconds)/1e9))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(list) > maxCalls {
		t.Caption += fmt.Sprintf(" (the %d with most volume of %d)", maxCalls, len(list))
	}
	return t
}
