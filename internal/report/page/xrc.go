package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/golaunch/golaunch/xrcsim"
)

// connections is the output of golaunch xrcsim (docs/xrcsim-v1.schema.json), as far as
// it is drawn.
type connections struct {
	Version int `json:"version"`
	Series  []struct {
		Transport string            `json:"transport"`
		Workload  string            `json:"workload"`
		PPN       int               `json:"ppn"`
		Points    []connectionPoint `json:"points"`
	} `json:"series"`
}

// connectionPoint is the connections of one job.
type connectionPoint struct {
	Nodes      int    `json:"nodes"`
	Ranks      int    `json:"ranks"`
	Peers      spread `json:"peers"`
	QueuePairs spread `json:"queue_pairs"`
	HCA        spread `json:"hca_queue_pairs"`
	Bytes      spread `json:"bytes_per_process"`
}

// spread is a quantity over the processes, or the nodes, of a job.
type spread struct {
	Average float64 `json:"average"`
	Minimum float64 `json:"minimum"`
	Maximum float64 `json:"maximum"`
}

func (s spread) isInvalid() bool {
	for _, x := range []float64{s.Average, s.Minimum, s.Maximum} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return true
		}
	}
	return false
}

// readConnections reads output of golaunch xrcsim.
func (in *Inputs) readConnections(file string, data []byte) (string, error) {
	var c connections
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	if c.Version != 1 {
		return "", fmt.Errorf("version %d of %s; this golaunch knows 1", c.Version, xrcsim.Format)
	}
	points := 0
	for _, s := range c.Series {
		if points += len(s.Points); points > maxPoints {
			return "", fmt.Errorf("more than %d points", maxPoints)
		}
		for _, p := range s.Points {
			if p.Ranks < 0 || p.Nodes < 0 || p.Peers.isInvalid() || p.QueuePairs.isInvalid() || p.HCA.isInvalid() || p.Bytes.isInvalid() {
				return "", errors.New("a number of a point is negative")
			}
		}
	}
	in.costs = append(in.costs, cost{charts: c.charts(file)})
	return fmt.Sprintf("%s, %s", plural(int64(len(c.Series)), "line"), plural(int64(points), "point")), nil
}

// connectionQuantities are drawn by number of ranks.
var connectionQuantities = []struct {
	title, y string
	of       func(*connectionPoint) spread
	text     func(float64) string
}{
	{title: "Queue pairs of a process", y: "queue pairs of a process, average", of: func(p *connectionPoint) spread { return p.QueuePairs }, text: average},
	{title: "Queue pairs of a node", y: "queue pairs of a node, average", of: func(p *connectionPoint) spread { return p.HCA }, text: average},
	{title: "Memory of a process", y: "bytes of a process, average", of: func(p *connectionPoint) spread { return p.Bytes },
		text: func(x float64) string { return prefixed(x, "B") }},
}

// average returns an average of numbers of things.
func average(x float64) string {
	if x >= 1000 {
		return count(int64(min(math.Round(x), math.MaxInt64/2)))
	}
	return three(x)
}

// charts returns a chart for each quantity.
func (c *connections) charts(file string) (charts []LineChart) {
	for _, q := range connectionQuantities {
		chart := LineChart{Title: q.title, X: "ranks", Y: q.y, LogX: true, LogY: true, Series: []Series{},
			Table: Table{Caption: q.title + ", " + file, Columns: columns(2, "transport", "workload", "nodes", "ranks", "average", "least", "most")}}
		most, of := 0.0, ""
		for _, s := range c.Series {
			line := Series{Name: shown(fmt.Sprintf("%s, %s, %d per node", strings.ToUpper(s.Transport), s.Workload, s.PPN)), Points: [][2]float64{}}
			for i := range s.Points {
				p := &s.Points[i]
				x := q.of(p)
				if x.Average > 0 && p.Ranks > 0 {
					line.Points = append(line.Points, [2]float64{float64(p.Ranks), x.Average})
				}
				if x.Average > most {
					most, of = x.Average, fmt.Sprintf("%s at %s", line.Name, plural(int64(p.Ranks), "rank"))
				}
				chart.Table.Rows = append(chart.Table.Rows, []string{shown(s.Transport), shown(s.Workload), count(int64(p.Nodes)), count(int64(p.Ranks)),
					q.text(x.Average), q.text(x.Minimum), q.text(x.Maximum)})
			}
			chart.Series = append(chart.Series, line)
		}
		chart.Summary = fmt.Sprintf("%s: %s. Most have %s: %s on average.", file, plural(int64(len(c.Series)), "line"), of, q.text(most))
		if of == "" {
			chart.Summary = file + ": none in any job."
		}
		cut(&chart.Table)
		charts = append(charts, chart)
	}
	return charts
}
