package page

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/report"
)

// maxSpans bounds the spans of a trace on a page: the longest are kept.
const maxSpans = 40_000

// Timeline is the spans of a trace.
type Timeline struct {
	File    string   `json:"file"`
	Summary string   `json:"summary"`
	Note    string   `json:"note"`
	Length  float64  `json:"length"` // in microseconds
	Nodes   []string `json:"nodes"`
	Rows    []Row    `json:"rows"`
	Names   []string `json:"names"` // of spans
	// Spans has for each row their number, and of each the begin since that of the one before, the length, both in
	// microseconds, and the index of the name.
	Spans Part  `json:"spans"`
	Table Table `json:"table"`
}

// Row is one row of a timeline.
type Row struct {
	Node int    `json:"node"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of rows.
const (
	phaseRows   = "phases"
	startRows   = "starts of agents"
	processRows = "processes"
	fenceRows   = "PMI"
	rankRows    = "ranks"
)

// kindOfRow tells it from the name (docs/report.md).
func kindOfRow(name string) string {
	switch {
	case name == "phases":
		return phaseRows
	case strings.HasPrefix(name, "start "):
		return startRows
	case strings.HasPrefix(name, "PMI"):
		return fenceRows
	case strings.HasPrefix(name, "rank "):
		return rankRows
	}
	return processRows
}

// kindOfSpan names the common kind of spans with one meaning.
func kindOfSpan(row, name string) string {
	switch {
	case row == rankRows:
		return "rank"
	case row == startRows && strings.HasPrefix(name, "start "):
		return "start of an agent"
	case row == fenceRows && strings.HasPrefix(name, "fence "):
		return "fence"
	}
	return name
}

// span is one of a trace, in microseconds.
type span struct {
	row, name  int
	begin, end int64
}

// timeline draws a trace that was checked.
func (p *Page) timeline(file string, t *report.TraceJSON) Timeline {
	b := spanBuilder{
		Timeline: Timeline{File: file, Nodes: []string{}, Rows: []Row{}, Names: []string{}},
		nodes:    map[int]int{}, rows: map[[2]int]int{}, names: map[string]int{},
	}
	b.titles(t.Events)
	for _, e := range t.Events {
		if e.Kind == "X" {
			b.add(e)
		}
	}
	b.tell()
	if left := len(b.spans) - maxSpans; left > 0 {
		slices.SortStableFunc(b.spans, func(x, y span) int { return cmp.Compare(y.end-y.begin, x.end-x.begin) })
		b.spans = b.spans[:maxSpans]
		b.Note = fmt.Sprintf("The drawing lacks the %s that are shortest.", plural(int64(left), "span"))
	}
	slices.SortStableFunc(b.spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.row, y.row), cmp.Compare(x.begin, y.begin), cmp.Compare(y.end, x.end))
	})
	b.Spans = p.keep(b.encoded())
	return b.Timeline
}

// spanBuilder numbers the names of spans.
type spanBuilder struct {
	Timeline
	nodes map[int]int    // by pid
	rows  map[[2]int]int // by pid and tid
	names map[string]int
	spans []span
}

// titles takes the names of nodes and rows, in the order of the file.
func (b *spanBuilder) titles(events []report.TraceSpan) {
	for _, e := range events {
		if e.Kind != "M" {
			continue
		}
		name, _ := e.Args["name"].(string)
		switch e.Name {
		case "process_name":
			b.Nodes[b.node(e.Node)] = shown(name)
		case "thread_name":
			row := b.row(e.Node, e.Row)
			b.Rows[row].Name, b.Rows[row].Kind = shown(name), kindOfRow(name)
		}
	}
}

// node returns the index of a node of the file.
func (b *spanBuilder) node(pid int) int {
	i, ok := b.nodes[pid]
	if !ok {
		i = len(b.Nodes)
		b.nodes[pid] = i
		b.Nodes = append(b.Nodes, fmt.Sprint("node ", pid))
	}
	return i
}

// row returns the index of a row of the file.
func (b *spanBuilder) row(pid, tid int) int {
	i, ok := b.rows[[2]int{pid, tid}]
	if !ok {
		i = len(b.Rows)
		b.rows[[2]int{pid, tid}] = i
		b.Rows = append(b.Rows, Row{b.node(pid), fmt.Sprint("row ", tid), processRows})
	}
	return i
}

func (b *spanBuilder) add(e report.TraceSpan) {
	name, ok := b.names[e.Name]
	if !ok {
		name = len(b.Names)
		b.names[e.Name] = name
		b.Names = append(b.Names, shown(e.Name))
	}
	s := span{row: b.row(e.Node, e.Row), name: name, begin: int64(math.Round(e.At)), end: int64(math.Round(e.At + e.For))}
	b.Length = max(b.Length, float64(s.end))
	b.spans = append(b.spans, s)
}

// tell makes the summary and the table of the spans of each kind.
func (b *spanBuilder) tell() {
	type group struct {
		kind, name string
		lengths    []int64
		first      int64
		longest    span
	}
	var order []*group
	groups := map[[2]string]*group{}
	for _, s := range b.spans {
		kind := b.Rows[s.row].Kind
		key := [2]string{kind, kindOfSpan(kind, b.Names[s.name])}
		g := groups[key]
		if g == nil {
			g = &group{kind: key[0], name: key[1], first: s.begin, longest: s}
			groups[key] = g
			order = append(order, g)
		}
		g.lengths, g.first = append(g.lengths, s.end-s.begin), min(g.first, s.begin)
		if s.end-s.begin > g.longest.end-g.longest.begin {
			g.longest = s
		}
	}
	slices.SortStableFunc(order, func(x, y *group) int { return cmp.Compare(x.first, y.first) })
	b.Table = Table{Caption: "Times of spans, " + b.File, Columns: columns(2, "span", "row", "how many", "first begins at", "median", "longest", "of")}
	b.Table.Columns[6].Number = false
	for _, g := range order {
		slices.Sort(g.lengths)
		b.Table.Rows = append(b.Table.Rows, []string{g.name, g.kind, count(int64(len(g.lengths))), micros(g.first), micros(g.lengths[len(g.lengths)/2]),
			micros(g.longest.end - g.longest.begin), b.Nodes[b.Rows[g.longest.row].Node]})
	}
	b.Summary = fmt.Sprintf("%s: %s in %s of %s, %s in all.", b.File, plural(int64(len(b.spans)), "span"), plural(int64(len(b.Rows)), "row"),
		plural(int64(len(b.Nodes)), "process"), micros(int64(b.Length)))
}

func micros(n int64) string { return seconds(float64(n) / 1e6) }

// encoded returns the spans, which are sorted by row and begin.
func (b *spanBuilder) encoded() []byte {
	of := make([]uint64, len(b.Rows))
	for _, s := range b.spans {
		of[s.row]++
	}
	var out []byte
	for _, n := range of {
		out = binary.AppendUvarint(out, n)
	}
	for i, s := range b.spans {
		before := int64(0)
		if i > 0 && b.spans[i-1].row == s.row {
			before = b.spans[i-1].begin
		}
		out = binary.AppendVarint(out, s.begin-before)
		out = binary.AppendUvarint(out, uint64(s.end-s.begin))
		out = binary.AppendUvarint(out, uint64(s.name))
	}
	return out
}
