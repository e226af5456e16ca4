package overlay

import (
	"cmp"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/tree"
)

// Bounds on the records of one node and its ranks: records within them are within the
// bounds of the message, also after further nodes have added theirs.
const (
	maxPhases  = 16  // of a node
	maxSpans   = 16  // steps of a node, or of one try to start a host
	maxTries   = 8   // to start one host
	maxOffsets = 4   // of a node's clock
	maxError   = 512 // bytes of why a try failed
)

// collected: records of nodes and ranks below it, and no more of either than
// there are.
func (c *claims) collected(_ tree.Header, m report.Collected) error {
	hosts, agents := c.child.given.Len(), 0
	for _, l := range m.Levels {
		if agents += l.Agents; l.Agents < 1 || l.Agents > hosts || agents > hosts {
			return fmt.Errorf("counters of more than %d agents", hosts)
		}
	}
	told, tries := make([]job.HostIndex, len(m.Nodes)), map[job.HostIndex]int{}
	for i := range m.Nodes {
		n := &m.Nodes[i]
		if n.Level < 0 || n.Level >= len(m.Levels) {
			return fmt.Errorf("%s is %d levels down of %d", c.child.called(n.Host), n.Level, len(m.Levels))
		}
		told[i] = n.Host
		if err := c.child.node(n, tries); err != nil {
			return err
		}
	}
	if h, again := twice(told); again {
		return fmt.Errorf("%s has two records", c.child.called(h))
	}
	if len(m.Ranks) > c.ranks {
		return fmt.Errorf("records of %d ranks of %d", len(m.Ranks), c.ranks)
	}
	for i := range m.Ranks {
		r := &m.Ranks[i]
		if err := c.rank(r.World, r.Rank, r.Host); err != nil {
			return err
		}
		if err := cmp.Or(long(maxStep, r.Outcome), long(maxCause, r.CPUs)); err != nil {
			return err
		}
		if r.ExitCode < 0 || r.ExitCode > job.MaxCode || r.Signal < 0 || r.Signal > job.MaxSignal {
			return fmt.Errorf("a record of rank %v with exit code %d, signal %d", job.RankID{World: r.World, Rank: r.Rank}, r.ExitCode, r.Signal)
		}
	}
	return nil
}

// node judges a node's record, and counts the tries to start each host.
func (o *Origin) node(n *report.Node, tries map[job.HostIndex]int) error {
	if err := o.host(n.Host); err != nil {
		return err
	}
	if n.Parent != job.NoHost {
		if err := o.host(n.Parent); err != nil {
			return err
		}
	}
	if len(n.Phases) > maxPhases {
		return fmt.Errorf("%s has %d phases", o.called(n.Host), len(n.Phases))
	}
	for _, p := range n.Phases {
		if err := long(maxStep, p.Name); err != nil {
			return err
		}
	}
	t := n.Trace
	if t == nil {
		return nil
	}
	offsets := maxOffsets
	if n.Host == o.own { // its parent adds them
		offsets = 0
	}
	if len(t.Fences) > report.MaxFences || len(t.Clock) > offsets {
		return fmt.Errorf("%s has %d fences, %d offsets", o.called(n.Host), len(t.Fences), len(t.Clock))
	}
	for _, f := range t.Fences {
		if f.World < 0 || f.World >= MaxWorlds {
			return fmt.Errorf("a fence of world %d", f.World)
		}
	}
	for _, s := range t.Starts {
		if err := o.host(s.Host); err != nil {
			return err
		}
		if tries[s.Host]++; tries[s.Host] > maxTries || s.Host == o.own {
			return fmt.Errorf("try %d to start %s", tries[s.Host], o.called(s.Host))
		}
		if err := long(maxError, s.Error); err != nil {
			return err
		}
		if err := spans(s.Steps); err != nil {
			return err
		}
	}
	return spans(t.Steps)
}

func spans(steps []report.Step) error {
	if len(steps) > maxSpans {
		return fmt.Errorf("%d steps", len(steps))
	}
	for _, s := range steps {
		if err := long(maxStep, s.Track, s.Name); err != nil {
			return err
		}
	}
	return nil
}
