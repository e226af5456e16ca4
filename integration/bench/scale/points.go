package scale

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// measured has the measurements on the test cluster, and the costs that were fitted to
// them: the content of docs/results/scale.json.
type measured struct {
	Date    string  `json:"date"`
	Machine string  `json:"machine"`
	Cores   int     `json:"cores"`
	Points  []point `json:"points"`
	Counted counted `json:"counted_ms"`
	Costs   costs   `json:"costs_ns"`
}

// point is one size, medians over its readings.
type point struct {
	Nodes int  `json:"nodes"`
	Ranks int  `json:"ranks"` // per node
	Fit   bool `json:"fit"`   // the costs were fitted to it
	reading
	Readings int     `json:"readings"`
	Spread   float64 `json:"spread"` // of the whole time: half of its middle half, as a part
}

// reading is one run. Times are milliseconds since golaunch began.
type reading struct {
	Connect float64 `json:"connect"`
	Up      float64 `json:"agents_up"`
	Started float64 `json:"ranks_started"`
	Wall    float64 `json:"wall"`   // until the tree is down
	CPU     float64 `json:"cpu"`    // of the cluster, all processes
	Others  float64 `json:"others"` // part of the machine that other programs used
}

// values returns the numbers that the model is held against, in the order of
// valueNames.
func (p *point) values() []float64 {
	return []float64{p.Connect, p.Up, p.Started, p.Wall, p.CPU}
}

var valueNames = []string{"connect", "agents up", "ranks started", "whole", "CPU"}

// modelled returns the same from the model.
func modelled(o outcome) []float64 {
	return []float64{ms(o.connect), ms(o.up), ms(o.started), ms(o.down), ms(o.cpu)}
}

// server returns the rest of a node's time, for its sshd and the account's shell.
func (c *counted) server() float64 { return c.Node - c.Agent - c.Warden }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func readMeasured(file string) (*measured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; make it with -measure", err)
	}
	m := new(measured)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

func (m *measured) write(file string) error {
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return results.Write(file, string(text)+"\n")
}
