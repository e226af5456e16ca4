package page

import "fmt"

// Levels has the share of messages that went each distance.
type Levels struct {
	Summary string  `json:"summary"`
	Bars    []Bar   `json:"bars"`
	Tables  []Table `json:"tables"`
}

// Bar adds up the messages of a run, by class.
type Bar struct {
	Run    string   `json:"run"`
	Metric string   `json:"metric"` // volume, messages or time
	Texts  []string `json:"texts"`  // of each class of the page
	Parts  []int64  `json:"parts"`
}

// metric is a number of an amount.
type metric struct {
	name string
	of   int
	text func(int64) string
}

// metrics are all, in the order in which they are shown: time is the last.
var metrics = []metric{
	{"volume", volume, bytesText},
	{"messages", messages, count},
	{"time", duration, func(ns int64) string { return seconds(float64(ns) / 1e9) }},
}

// metricsOf returns the metrics that runs have: time only where it was counted.
func metricsOf(timed bool) []metric {
	if timed {
		return metrics
	}
	return metrics[:len(metrics)-1]
}

// levels compares the totals of all runs.
func (p *Page) levels(totals [][numClasses]total) *Levels {
	l := &Levels{Bars: []Bar{}}
	for i, sum := range totals {
		for _, m := range metricsOf(p.Runs[i].Timed) {
			bar := Bar{Run: p.Runs[i].Title, Metric: m.name}
			for _, c := range p.Classes {
				n := sum[c.ID].amount[m.of]
				bar.Parts, bar.Texts = append(bar.Parts, n), append(bar.Texts, m.text(n))
			}
			l.Bars = append(l.Bars, bar)
		}
		l.Tables = append(l.Tables, p.levelTable(&p.Runs[i], sum))
		if i > 0 {
			l.Summary += " "
		}
		l.Summary += p.levelSentence(&p.Runs[i], sum)
	}
	for i := 1; i < len(totals); i++ {
		l.Tables = append(l.Tables, p.compareTable(i, totals[0], totals[i]))
		a, b := leavingNode(totals[0]), leavingNode(totals[i])
		l.Summary += fmt.Sprintf(" Between nodes: %s in %s, %s in %s (%s).", bytesText(a), p.Runs[0].Title, bytesText(b), p.Runs[i].Title, change(a, b))
	}
	return l
}

// all returns the sum over all classes.
func all(sum [numClasses]total) (t total) {
	for _, c := range sum {
		t.pairs += c.pairs
		t.add(c.amount)
	}
	return t
}

// leavingNode returns the volume that left its node.
func leavingNode(sum [numClasses]total) int64 {
	return all(sum).amount[volume] - sum[withinNode].amount[volume]
}

// levelSentence tells a run's totals.
func (p *Page) levelSentence(r *Run, sum [numClasses]total) string {
	t := all(sum)
	if t.amount == (amount{}) {
		return fmt.Sprintf("%s: %s on %s sent nothing.", r.Title, plural(int64(r.Ranks), "rank"), plural(int64(len(r.Nodes)), "node"))
	}
	of := volume
	if t.amount[volume] == 0 {
		of = messages
	}
	var parts []string
	for _, c := range p.Classes {
		if n := sum[c.ID].amount[of]; n > 0 {
			parts = append(parts, share(n, t.amount[of])+" "+c.Label)
		}
	}
	return fmt.Sprintf("%s: %s on %s sent %s in %s: %s.", r.Title, plural(int64(r.Ranks), "rank"), plural(int64(len(r.Nodes)), "node"),
		bytesText(t.amount[volume]), plural(t.amount[messages], "message"), and(parts))
}

// levelTable returns a row for each distance.
func (p *Page) levelTable(r *Run, sum [numClasses]total) Table {
	names := []string{"distance", "pairs of ranks"}
	for _, m := range metricsOf(r.Timed) {
		names = append(names, m.name, "share")
	}
	t := Table{Caption: "What " + r.Title + " sent, by distance", Columns: columns(1, names...)}
	whole := all(sum)
	row := func(name string, x total) {
		cells := []string{name, count(x.pairs)}
		for _, m := range metricsOf(r.Timed) {
			cells = append(cells, m.text(x.amount[m.of]), share(x.amount[m.of], whole.amount[m.of]))
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, c := range p.Classes {
		row(c.Label, sum[c.ID])
	}
	row("all", whole)
	return t
}

// compareTable returns the change from the first run to run i.
func (p *Page) compareTable(i int, a, b [numClasses]total) Table {
	first, other := &p.Runs[0], &p.Runs[i]
	both := metricsOf(first.Timed && other.Timed)
	names := []string{"distance"}
	for _, m := range both {
		names = append(names, m.name+", A", m.name+", B", "change")
	}
	t := Table{Caption: fmt.Sprintf("Change from %s (A) to %s (B)", first.Title, other.Title), Columns: columns(1, names...)}
	row := func(name string, x, y total) {
		cells := []string{name}
		for _, m := range both {
			cells = append(cells, m.text(x.amount[m.of]), m.text(y.amount[m.of]), change(x.amount[m.of], y.amount[m.of]))
		}
		t.Rows = append(t.Rows, cells)
	}
	for _, c := range p.Classes {
		row(c.Label, a[c.ID], b[c.ID])
	}
	row("all", all(a), all(b))
	return t
}
