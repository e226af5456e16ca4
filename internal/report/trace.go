package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// TraceVersion is the number of docs/trace-v1.schema.json. The trace may gain members;
// a change of existing ones takes a new number.
const TraceVersion = 1

// Trace is the subject of --trace: the launcher and every agent that answered. Times of
// nodes and ranks are of their node's clock.
type Trace struct {
	Job    string // its identity
	Begin  time.Time
	Phases []Phase // of the launcher
	Starts []Start // from the launcher
	Nodes  []Node
	Ranks  []Rank // none unless each is to be drawn
	Name   func(job.HostIndex) string
}

// TraceJSON is the file: Chrome's trace format, which Perfetto reads too.
type TraceJSON struct {
	Unit   string      `json:"displayTimeUnit"`
	Other  TraceAbout  `json:"otherData"`
	Events []TraceSpan `json:"traceEvents"`
}

// TraceAbout describes a trace, and the agreement of the clocks.
type TraceAbout struct {
	Schema int          `json:"schema"` // TraceVersion
	Job    string       `json:"job"`
	Begin  time.Time    `json:"begin"` // of the launcher's clock: 0 of the time axis
	Clocks []TraceClock `json:"clocks"`
}

// TraceClock holds the corrections of a node's times. Numbers are microseconds.
type TraceClock struct {
	Host   string  `json:"host"`
	Parent string  `json:"parent"` // empty for the root
	First  float64 `json:"ahead_us"`
	Last   float64 `json:"ahead_at_end_us"`
	Within float64 `json:"within_us"`
	Known  bool    `json:"known"` // false: no round trip was made, the clock counts as the launcher's
}

// TraceSpan is one event of the format: a span (ph X), or a name (ph M).
type TraceSpan struct {
	Name string         `json:"name"`
	Kind string         `json:"ph"`
	Node int            `json:"pid"` // 0 for the launcher, else the host's index + 1
	Row  int            `json:"tid"`
	At   float64        `json:"ts"`  // microseconds since begin
	For  float64        `json:"dur"` // microseconds
	Args map[string]any `json:"args"`
}

// Rows of a node.
const (
	rowAgent = 1 + iota
	rowWarden
	rowFiles
	rowSpawn
	rowExit
	rowFences              // and one more for each further world
	rowStarts = 100_000    // and one for each host that is started from here
	rowRank   = 20_000_000 // and one for each rank of the job
)

// Encode writes the file to w.
func (t *Trace) Encode(w io.Writer) error {
	doc := t.document()
	out := bufio.NewWriter(w)
	about, err := json.Marshal(doc.Other)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\"displayTimeUnit\": %q, \"otherData\": %s, \"traceEvents\": [", doc.Unit, about)
	for i := range doc.Events {
		line, err := json.Marshal(&doc.Events[i])
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line)
	}
	out.WriteString("\n]}\n")
	return out.Flush() // Flush tells of earlier errors, too
}

// document returns the file's contents.
func (t *Trace) document() *TraceJSON {
	slices.SortFunc(t.Nodes, func(x, y Node) int { return cmp.Compare(x.Host, y.Host) })
	doc := &TraceJSON{Unit: "ms", Other: TraceAbout{Schema: TraceVersion, Job: t.Job, Begin: t.Begin.UTC(), Clocks: []TraceClock{}}}
	clock := Clocks(t.Nodes)
	d := drawing{trace: t, doc: doc, clock: Clock{}}
	d.name("golaunch", "")
	d.phases("job", t.Begin, t.Phases)
	d.starts(t.Starts)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		d.node, d.clock = int(n.Host)+1, clock[n.Host]
		d.agent(n)
	}
	for i := range t.Ranks {
		r := &t.Ranks[i]
		d.node, d.clock = int(r.Host)+1, clock[r.Host]
		d.rank(rowRank+i, r)
	}
	slices.SortStableFunc(doc.Events, func(x, y TraceSpan) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Node, y.Node), cmp.Compare(x.Row, y.Row),
			cmp.Compare(x.At, y.At), cmp.Compare(y.For, x.For))
	})
	return doc
}

// drawing adds the events of one node after the other.
type drawing struct {
	trace *Trace
	doc   *TraceJSON
	node  int
	clock Clock
	rows  map[int]bool // that have a name
}

// name begins a node.
func (d *drawing) name(text, label string) {
	d.rows = map[int]bool{}
	meta := func(what, key string, value any) {
		d.doc.Events = append(d.doc.Events, TraceSpan{Name: what, Kind: "M", Node: d.node, Args: map[string]any{key: value}})
	}
	meta("process_name", "name", text)
	meta("process_sort_index", "sort_index", d.node)
	if label != "" {
		meta("process_labels", "labels", label)
	}
}

// span adds one, and names its row. A span that was not reached is left out.
func (d *drawing) span(row int, rowName, name string, begin, end time.Time, args map[string]any) {
	if begin.IsZero() || end.IsZero() {
		return
	}
	if !d.rows[row] {
		d.rows[row] = true
		d.doc.Events = append(d.doc.Events, TraceSpan{Name: "thread_name", Kind: "M", Node: d.node, Row: row, Args: map[string]any{"name": rowName}})
	}
	if args == nil {
		args = map[string]any{}
	}
	begin, end = d.clock.Launcher(begin), d.clock.Launcher(end)
	d.doc.Events = append(d.doc.Events, TraceSpan{
		Name: name, Kind: "X", Node: d.node, Row: row,
		At: micros(begin.Sub(d.trace.Begin)), For: micros(max(0, end.Sub(begin))), Args: args,
	})
}

// phases draws consecutive phases, in a span of all.
func (d *drawing) phases(name string, begin time.Time, phases []Phase) {
	if len(phases) == 0 {
		return
	}
	d.span(rowAgent, "phases", name, begin, phases[len(phases)-1].End, nil)
	for _, p := range phases {
		d.span(rowAgent, "phases", p.Name, begin, p.End, nil)
		begin = p.End
	}
}

func (d *drawing) starts(starts []Start) {
	for _, s := range starts {
		host := "start " + d.trace.Name(s.Host)
		row, args := rowStarts+int(s.Host), map[string]any{}
		if s.Error != "" {
			args["error"] = s.Error
		}
		d.span(row, host, host, s.Begin, s.End, args)
		for _, step := range s.Steps {
			d.span(row, host, step.Name, step.Begin, step.End, nil)
		}
	}
}

func (d *drawing) agent(n *Node) {
	x := n.trace()
	c := TraceClock{Host: d.trace.Name(n.Host)}
	if n.Parent != job.NoHost {
		c.Parent = d.trace.Name(n.Parent)
	}
	begin, end := x.Begin, x.Begin
	if len(n.Phases) > 0 {
		end = n.Phases[len(n.Phases)-1].End
	}
	var within time.Duration
	within, c.Known = d.clock.Within()
	c.First, c.Last, c.Within = micros(d.clock.Ahead(begin)), micros(d.clock.Ahead(end)), micros(within)
	d.doc.Other.Clocks = append(d.doc.Other.Clocks, c)
	label := "clock unknown"
	if c.Known {
		label = fmt.Sprintf("clock %+.3f ms ± %.3f ms", c.First/1e3, c.Within/1e3)
	}
	d.name(c.Host, label)
	d.phases("agent", begin, n.Phases)
	d.starts(x.Starts)
	rows := map[string]int{TrackWarden: rowWarden, TrackFiles: rowFiles, TrackSpawn: rowSpawn, TrackExit: rowExit}
	for _, s := range x.Steps {
		var args map[string]any
		if s.Count > 0 {
			args = map[string]any{"count": s.Count}
		}
		d.span(rows[s.Track], s.Track, s.Name, s.Begin, s.End, args)
	}
	for i, f := range x.Fences {
		args := map[string]any{}
		if i == len(x.Fences)-1 && x.FencesLeft > 0 {
			args["further fences"] = x.FencesLeft
		}
		row, name := rowFences+f.World, "PMI"
		if f.World > 0 {
			name = fmt.Sprintf("PMI of world %d", f.World)
		}
		d.span(row, name, fmt.Sprintf("fence %d", f.Number), f.First, f.Released, args)
		d.span(row, name, "enter", f.First, f.Last, nil)
		d.span(row, name, "exchange", f.Last, f.Released, nil)
	}
}

func (d *drawing) rank(row int, r *Rank) {
	id := job.RankID{World: r.World, Rank: r.Rank}
	args := map[string]any{"pid": r.PID, "outcome": r.Outcome}
	switch {
	case r.Signal != 0:
		args["signal"] = r.Signal
	case r.ExitCode != 0:
		args["exit code"] = r.ExitCode
	}
	d.rows = map[int]bool{} // each rank has a row of its own
	name := fmt.Sprint("rank ", id)
	d.span(row, name, name, r.Start, r.End, args)
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }
