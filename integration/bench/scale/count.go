package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/report"
)

// Processes are counted on so many nodes with one rank each, so often, while the
// ranks sleep.
const (
	countNodes = 32
	countTimes = 3
	countSleep = 8 * time.Second
)

// counted is the processor time of processes of a node, in milliseconds.
type counted struct {
	Nodes  int     `json:"nodes"`
	Node   float64 `json:"node"`   // all of a node without children, up to when its rank runs
	Agent  float64 `json:"agent"`  // of that its agent
	Warden float64 `json:"warden"` // and its warden
	Client float64 `json:"client"` // the further time of an agent with children, for each
}

// countAll counts several times and takes the medians.
func countAll(ctx context.Context, c *cluster.Cluster, bin, dir string, nodes int) (counted, error) {
	var node, agent, warden, client []float64
	for range countTimes {
		one, err := count(ctx, c, bin, filepath.Join(dir, "report.json"), nodes)
		if err != nil {
			return one, err
		}
		node, agent = append(node, one.Node), append(agent, one.Agent)
		warden, client = append(warden, one.Warden), append(client, one.Client)
	}
	return counted{Nodes: nodes, Node: results.Median(node), Agent: results.Median(agent), Warden: results.Median(warden), Client: results.Median(client)}, nil
}

// count looks at the processes of a job whose ranks sleep.
func count(ctx context.Context, c *cluster.Cluster, bin, file string, nodes int) (one counted, err error) {
	if err := awaitIdle(ctx); err != nil {
		return one, err
	}
	before, err := nodesCPU(c, nodes)
	if err != nil {
		return one, err
	}
	cmd := golaunchOn(ctx, c, bin, point{Nodes: nodes, Ranks: 1}, "--report", file, "sleep", fmt.Sprint(countSleep.Seconds()))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return one, err
	}
	after, wardens, err := running(ctx, c, nodes)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return one, fmt.Errorf("%d nodes, counting: %w: %s", nodes, err, bytes.TrimSpace(said.Bytes()))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return one, err
	}
	var doc report.Report
	if err := json.Unmarshal(text, &doc); err != nil {
		return one, err
	}
	one.Client, one.Agent = agentsOwn(&doc)
	one.Warden = results.Median(wardens)
	var all []float64
	for i := range after {
		all = append(all, after[i]-before[i])
	}
	one.Node = results.Median(all) // most have no children
	return one, nil
}

// running waits for all wardens and then until nothing moves, and returns the time used
// by each node, and by each warden.
func running(ctx context.Context, c *cluster.Cluster, nodes int) (all, wardens []float64, err error) {
	for begin := time.Now(); len(wardens) < nodes; {
		if time.Since(begin) > countSleep {
			return nil, nil, fmt.Errorf("after %v %d wardens run", countSleep, len(wardens))
		}
		if _, err := settled(ctx, c); err != nil {
			return nil, nil, err
		}
		wardens = nil
		for i := 1; i <= nodes; i++ {
			procs, err := c.Processes(cluster.NodeName(i))
			if err != nil {
				return nil, nil, err
			}
			for _, p := range procs {
				if slices.Contains(p.Cmdline, proc.WardenWord) {
					wardens = append(wardens, ms(processCPU(p.PID)))
				}
			}
		}
	}
	all, err = nodesCPU(c, nodes)
	return all, wardens, err
}

// nodesCPU returns the processor time of all programs of each node so far.
func nodesCPU(c *cluster.Cluster, nodes int) (all []float64, err error) {
	for i := 1; i <= nodes; i++ {
		d, err := c.NodeCPUTime(cluster.NodeName(i))
		if err != nil {
			return nil, err
		}
		all = append(all, ms(d))
	}
	return all, nil
}

// agentsOwn returns the processor time of an agent without children, and that of one
// more child.
func agentsOwn(doc *report.Report) (client, leaf float64) {
	children := map[string]int{}
	for _, n := range doc.Nodes {
		children[n.Parent]++
	}
	var leaves, inner []float64
	for _, n := range doc.Nodes {
		if children[n.Host] == 0 {
			leaves = append(leaves, 1000*n.Agent.CPU)
		}
	}
	leaf = results.Median(leaves)
	for _, n := range doc.Nodes {
		if k := children[n.Host]; k > 0 {
			inner = append(inner, (1000*n.Agent.CPU-leaf)/float64(k))
		}
	}
	return results.Median(inner), leaf
}
