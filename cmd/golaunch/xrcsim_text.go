package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/golaunch/golaunch/xrcsim"
)

// connected is the output of xrcsim: docs/xrcsim-v1.schema.json.
type connected struct {
	Format      string            `json:"format"`
	Version     int               `json:"version"`
	Parameters  xrcsim.Parameters `json:"parameters"`
	Collectives bool              `json:"collectives"`
	Series      []connectedSeries `json:"series"`
}

// connectedSeries are jobs of several numbers of nodes and else alike.
type connectedSeries struct {
	Transport xrcsim.Transport `json:"transport"`
	Workload  string           `json:"workload"`
	PPN       int              `json:"ppn"`
	Points    []xrcsim.Point   `json:"points"`
}

// add adds points, each to its series.
func (c *connected) add(points []xrcsim.Point) {
	for _, p := range points {
		i := slices.IndexFunc(c.Series, func(s connectedSeries) bool {
			return s.Transport == p.Transport && s.Workload == p.Workload && s.PPN == p.PPN
		})
		if i < 0 {
			i = len(c.Series)
			c.Series = append(c.Series, connectedSeries{p.Transport, p.Workload, p.PPN, nil})
		}
		c.Series[i].Points = append(c.Series[i].Points, p)
	}
}

// text is a table with a line for each point.
func (c *connected) text() string {
	var b strings.Builder
	p := c.Parameters
	fmt.Fprintf(&b, "inside a node  %s\nconnections    %s", p.Inside, p.Connect)
	if !c.Collectives && p.Connect == xrcsim.OnDemand {
		fmt.Fprint(&b, ", those of collective operations left out")
	}
	fmt.Fprintf(&b, "\nmemory         %s each queue pair, %s each receive-only one, %d buffers of %s each process\n\n",
		bytesText(float64(p.QueuePair)), bytesText(float64(p.ReceiveOnly)), p.Buffers, bytesText(float64(p.BufferBytes)))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t\t\t\t\tqueue pairs of a process\t\t\ton a node\t\tmemory of a process\t\t")
	fmt.Fprintln(w, "workload\ttransport\tnodes\tppn\tranks\taverage\tleast\tmost\treceive-only\tall\tqueue pairs\twith buffers\t")
	for _, s := range c.Series {
		for _, x := range s.Points {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\t\n", s.Workload, s.Transport, x.Nodes, s.PPN, x.Ranks,
				strconv.FormatFloat(math.Round(1000*x.QueuePairs.Average)/1000, 'f', -1, 64), x.QueuePairs.Minimum, x.QueuePairs.Maximum, x.ReceiveOnly.Average, x.HCA.Average,
				bytesText(x.QueuePairBytes.Average), bytesText(x.Bytes.Average))
		}
	}
	w.Flush()
	return b.String()
}

// bytesText is a number of bytes with a unit.
func bytesText(x float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for ; x >= 1000 && i < len(units)-1; i++ {
		x /= 1024
	}
	if x < 9.95 && x != float64(int64(x)) {
		return fmt.Sprintf("%.1f %s", x, units[i])
	}
	return fmt.Sprintf("%.0f %s", x, units[i])
}
