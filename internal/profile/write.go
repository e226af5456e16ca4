package profile

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
)

// rows are written by hand: there may be millions, one to a line.

// Write writes the file to w. The error is w's.
func (p *Profile) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	head := *p
	head.Format, head.Version, head.Worlds = Format, Version, nil
	text, err := json.MarshalIndent(&head, "", "\t")
	if err != nil {
		return err
	}
	out.Write(text[:len(text)-len("null\n}")]) // up to the worlds
	out.WriteString("[")
	for i := range p.Worlds {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		if err := p.Worlds[i].write(out, p.Quantity == Time); err != nil {
			return err
		}
	}
	out.WriteString("]\n}\n")
	return out.Flush() // Flush tells of earlier errors, too
}

// write writes one world.
func (v *World) write(out *bufio.Writer, timed bool) error {
	member := func(name string, value any) error {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		out.WriteString(name)
		out.Write(text)
		return nil
	}
	for _, m := range []struct {
		name  string
		value any
	}{
		{"{\"world\": ", v.World}, {", \"size\": ", v.Size}, {", \"mpi\": ", v.MPI},
		{",\n\"nodes\": ", some(v.Nodes)}, {",\n\"node_of\": ", some(v.NodeOf)},
		{",\n\"missing\": ", some(v.Missing)}, {",\n\"unfinished\": ", some(v.Unfinished)},
		{",\n\"dropped\": ", v.Dropped},
	} {
		if err := member(m.name, m.value); err != nil {
			return err
		}
	}
	var line []byte
	out.WriteString(",\n\"sent\": [")
	for i, s := range v.Sent {
		out.Write(row(line, i, timed, s.Counts, int64(s.Source), int64(s.Destination)))
	}
	out.WriteString("],\n\"outside\": [")
	for i, s := range v.Outside {
		out.Write(row(line, i, timed, s.Counts, int64(s.Source)))
	}
	out.WriteString("]")
	if err := member(",\n\"communicators\": ", some(v.Communicators)); err != nil {
		return err
	}
	out.WriteString(",\n\"collectives\": [")
	for i := range v.Collectives {
		if err := member(separator(i), &v.Collectives[i]); err != nil {
			return err
		}
	}
	out.WriteString("]}")
	return nil
}

// separator returns the separator before element i of a list with a line for each.
func separator(i int) string {
	if i > 0 {
		return ",\n"
	}
	return "\n"
}

// row returns a line of numbers.
func row(line []byte, i int, timed bool, c Counts, begin ...int64) []byte {
	line = append(append(line[:0], separator(i)...), '[')
	for _, n := range begin {
		line = append(strconv.AppendInt(line, n, 10), ',')
	}
	line = append(strconv.AppendInt(line, c.Messages, 10), ',')
	line = strconv.AppendInt(line, c.Bytes, 10)
	if timed {
		line = strconv.AppendInt(append(line, ','), c.Nanoseconds, 10)
	}
	return append(line, ']')
}

// some returns the list, never null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// MarshalJSON writes [first, count, step].
func (r Run) MarshalJSON() ([]byte, error) { return json.Marshal([]int{r.First, r.Count, r.Step}) }

// MarshalJSON writes [node, first, count].
func (o OnNode) MarshalJSON() ([]byte, error) { return json.Marshal([]int{o.Node, o.First, o.Count}) }
