package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// LineChart is series of points.
type LineChart struct {
	Title   string   `json:"title"`
	Summary string   `json:"summary"`
	X       string   `json:"x"`
	Y       string   `json:"y"`
	LogX    bool     `json:"log_x"`
	LogY    bool     `json:"log_y"`
	Series  []Series `json:"series"`
	Table   Table    `json:"table"`
}

// Series is one line of a chart.
type Series struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // by x
}

// cost is a file that becomes line charts.
type cost struct {
	charts []LineChart
	sweep  []sweepPoint // of netsim; drawn together with others of its kind
}

// simulated is the output of netsim run and sweep (docs/simulators.md), as far as it is
// drawn.
type simulated struct {
	Algorithm string      `json:"algorithm"`
	Ranks     int         `json:"ranks"`
	Size      int64       `json:"size_bytes"`
	Network   string      `json:"network"`
	Order     string      `json:"order"`
	Stages    []stageCost `json:"stages"`
	Total     stageCost   `json:"total"`
}

type stageCost struct {
	Messages int64    `json:"messages"`
	Most     int64    `json:"bytes_on_busiest_link"`
	Model    float64  `json:"model_seconds"`
	Ended    *float64 `json:"simulated_end_seconds"`
}

// sweepPoint is the cost of one size and number of ranks.
type sweepPoint struct {
	file string
	simulated
}

// maxPoints bounds the points of a file.
const maxPoints = 1 << 16

// readCosts reads output of netsim run or sweep.
func (in *Inputs) readCosts(file string, data []byte) (string, error) {
	var list []simulated
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if err := json.Unmarshal(data, &list); err != nil {
			return "", err
		}
	} else {
		var one simulated
		if err := json.Unmarshal(data, &one); err != nil {
			return "", err
		}
		list = append(list, one)
	}
	points := 0
	for _, s := range list {
		if points += 1 + len(s.Stages); points > maxPoints {
			return "", fmt.Errorf("more than %d stages", maxPoints)
		}
		for _, c := range append(slices.Clone(s.Stages), s.Total) {
			if !(c.Model >= 0) || math.IsInf(c.Model, 0) || c.Most < 0 || c.Ended != nil && !(*c.Ended >= 0) || s.Ranks < 0 || s.Size < 0 {
				return "", errors.New("a cost, a size or a number of ranks is negative")
			}
		}
	}
	c := cost{}
	for _, s := range list {
		if len(s.Stages) > 0 {
			c.charts = append(c.charts, stageCharts(file, &s)...)
		} else {
			c.sweep = append(c.sweep, sweepPoint{file, s})
		}
	}
	in.costs = append(in.costs, c)
	s := list[0]
	about := fmt.Sprintf("%s, %s, %s", shown(s.Algorithm), plural(int64(s.Ranks), "rank"), shown(s.Network))
	if len(list) > 1 {
		about = fmt.Sprintf("%s, %s, %s", shown(s.Algorithm), plural(int64(len(list)), "row"), shown(s.Network))
	}
	return about, nil
}

// stageCharts returns those of one algorithm, stage by stage.
func stageCharts(file string, s *simulated) []LineChart {
	name := fmt.Sprintf("%s, %s, %s", shown(s.Algorithm), plural(int64(s.Ranks), "rank"), bytesText(s.Size))
	times := LineChart{Title: "Time by stage: " + name, X: "stage", Y: "since the beginning, µs",
		Table: Table{Caption: "Time by stage, " + file, Columns: columns(1, "stage", "messages", "model, stage", "model, in all", "simulated end")}}
	load := LineChart{Title: "Busiest link by stage: " + name, X: "stage", Y: "bytes on the busiest link",
		Table: Table{Caption: "Busiest link by stage, " + file, Columns: columns(1, "stage", "bytes on the busiest link")}}
	model, ends, most := Series{Name: "model"}, Series{Name: "simulation"}, Series{Name: "busiest link"}
	sum := 0.0
	for i, c := range s.Stages {
		sum += c.Model
		x, end := float64(i), "–"
		model.Points, most.Points = append(model.Points, [2]float64{x, sum * 1e6}), append(most.Points, [2]float64{x, float64(c.Most)})
		if c.Ended != nil {
			ends.Points = append(ends.Points, [2]float64{x, *c.Ended * 1e6})
			end = seconds(*c.Ended)
		}
		times.Table.Rows = append(times.Table.Rows, []string{fmt.Sprint(i), count(c.Messages), seconds(c.Model), seconds(sum), end})
		load.Table.Rows = append(load.Table.Rows, []string{fmt.Sprint(i), bytesText(c.Most)})
	}
	times.Series, load.Series = []Series{model}, []Series{most}
	times.Summary = fmt.Sprintf("%s on %s: %s in the model", name, shown(s.Network), seconds(s.Total.Model))
	if s.Total.Ended != nil {
		times.Series = append(times.Series, ends)
		times.Summary += fmt.Sprintf(", %s in the simulation", seconds(*s.Total.Ended))
	}
	times.Summary += fmt.Sprintf(", in %s.", plural(int64(len(s.Stages)), "stage"))
	load.Summary = fmt.Sprintf("The busiest link of any stage carries %s.", bytesText(s.Total.Most))
	cut(&times.Table)
	cut(&load.Table)
	return []LineChart{times, load}
}

// maxRows bounds the rows of a chart's table.
const maxRows = 256

// cut leaves the rows out that are too many.
func cut(t *Table) {
	if len(t.Rows) > maxRows {
		t.Caption += fmt.Sprintf(" (the first %d of %d)", maxRows, len(t.Rows))
		t.Rows = t.Rows[:maxRows]
	}
}

// costCharts returns the charts of all files; sweeps over the same quantity share one.
func costCharts(costs []cost) (charts []LineChart) {
	bySize, byRanks := []sweepPoint(nil), []sweepPoint(nil)
	for _, c := range costs {
		charts = append(charts, c.charts...)
		sizes := map[int64]bool{}
		for _, p := range c.sweep {
			sizes[p.Size] = true
		}
		if len(sizes) > 1 {
			bySize = append(bySize, c.sweep...)
		} else {
			byRanks = append(byRanks, c.sweep...)
		}
	}
	if len(bySize) > 0 {
		charts = append(charts, sweepChart("size in bytes", bySize, func(p *sweepPoint) (float64, string) {
			return float64(p.Size), fmt.Sprintf("%s, %s", shown(p.Algorithm), plural(int64(p.Ranks), "rank"))
		}))
	}
	if len(byRanks) > 0 {
		charts = append(charts, sweepChart("ranks", byRanks, func(p *sweepPoint) (float64, string) {
			return float64(p.Ranks), fmt.Sprintf("%s, %s", shown(p.Algorithm), bytesText(p.Size))
		}))
	}
	return charts
}

// sweepChart draws the costs of algorithms by x. Series has the x of a point and the
// name of its line.
func sweepChart(x string, points []sweepPoint, series func(*sweepPoint) (float64, string)) LineChart {
	c := LineChart{Title: "Time by " + x, X: x, Y: "time in µs", LogX: true, LogY: true,
		Table: Table{Caption: "Time by " + x, Columns: columns(2, "algorithm", "file", x, "model", "simulated")}}
	var order []string
	lines := map[string][][2]float64{}
	add := func(name string, x, y float64) {
		if y <= 0 || x <= 0 {
			return
		}
		if lines[name] == nil {
			order = append(order, name)
		}
		lines[name] = append(lines[name], [2]float64{x, y})
	}
	files := map[string]bool{}
	for _, p := range points {
		files[p.file] = true
	}
	for i := range points {
		p := &points[i]
		at, name := series(p)
		if len(files) > 1 {
			name += ", " + p.file
		}
		end := "–"
		add(name+", model", at, p.Total.Model*1e6)
		if p.Total.Ended != nil {
			add(name+", simulation", at, *p.Total.Ended*1e6)
			end = seconds(*p.Total.Ended)
		}
		c.Table.Rows = append(c.Table.Rows, []string{shown(p.Algorithm), p.file, count(int64(at)), seconds(p.Total.Model), end})
	}
	for _, name := range order {
		slices.SortStableFunc(lines[name], func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
		c.Series = append(c.Series, Series{name, lines[name]})
	}
	if c.Series == nil {
		c.Series = []Series{}
	}
	c.Summary = fmt.Sprintf("%s of what golaunch netsim sweep told, as %s.", plural(int64(len(points)), "row"), plural(int64(len(order)), "line"))
	cut(&c.Table)
	return c
}
