package mapping

import (
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
)

// Metric names a measure of maps; less is better.
type Metric string

// Names of metrics.
const (
	// ByHopBytes is HopBytes.
	ByHopBytes Metric = "hop-bytes"
	// ByMaxLoad is MaxLoad.
	ByMaxLoad Metric = "max-load"
)

// costFunc evaluates a map by a metric.
type costFunc func(g *commgraph.Graph, r routing.Router, t *Target, m Map) (float64, error)

// metrics are all there are. A new one is its name and a line here.
var metrics = [...]struct {
	name Metric
	help string // for users, in a line
	cost costFunc
}{
	{ByHopBytes, "weight times distance, over all that ranks send each other", func(g *commgraph.Graph, _ routing.Router, t *Target, m Map) (float64, error) {
		return HopBytes(g, t, m), nil
	}},
	{ByMaxLoad, "the weight on the link that has most", MaxLoad},
}

// Metrics returns every metric, the default first.
func Metrics() []Metric {
	var all []Metric
	for _, m := range metrics {
		all = append(all, m.name)
	}
	return all
}

// Known reports whether there is such a metric.
func (m Metric) Known() bool {
	for i := range metrics {
		if metrics[i].name == m {
			return true
		}
	}
	return false
}

// Help describes a known metric to users, in a line.
func (m Metric) Help() string {
	for i := range metrics {
		if metrics[i].name == m {
			return metrics[i].help
		}
	}
	return ""
}

// cost returns the function of a metric; that of hop-bytes for "".
func (m Metric) cost() costFunc {
	for i := range metrics {
		if metrics[i].name == m {
			return metrics[i].cost
		}
	}
	return metrics[0].cost
}
