package report

import "github.com/golaunch/golaunch/internal/job"

// Level is the agents that are equally far from the root.
type Level struct {
	Agents int      `cbor:"1,keyasint"`
	Sum    Counters `cbor:"2,keyasint"`
	Max    Counters `cbor:"3,keyasint"` // of each number the largest
}

// One returns the Level of one agent.
func One(c Counters) Level { return Level{Agents: 1, Sum: c, Max: c} }

// Merge folds another part of the same level in.
func (l *Level) Merge(part Level) {
	l.Agents += part.Agents
	for i := range l.Sum {
		l.Sum[i] += part.Sum[i]
		l.Max[i] = max(l.Max[i], part.Max[i])
	}
}

// Collected is the report of a subtree.
type Collected struct {
	Levels []Level `cbor:"1,keyasint"` // of the subtree, its own root first
	Nodes  []Node  `cbor:"2,keyasint"` // if records are asked for
	Ranks  []Rank  `cbor:"3,keyasint"` // if records are asked for
}

// Below moves c one level down: it becomes a part of the subtree of parent.
func (c *Collected) Below(parent job.HostIndex) {
	c.Levels = append([]Level{{}}, c.Levels...)
	for i := range c.Nodes {
		if c.Nodes[i].Level++; c.Nodes[i].Level == 1 {
			c.Nodes[i].Parent = parent
		}
	}
}

// Merge folds another subtree's part in, level by level.
func (c *Collected) Merge(part Collected) {
	for len(c.Levels) < len(part.Levels) {
		c.Levels = append(c.Levels, Level{})
	}
	for i, l := range part.Levels {
		c.Levels[i].Merge(l)
	}
	c.Nodes = append(c.Nodes, part.Nodes...)
	c.Ranks = append(c.Ranks, part.Ranks...)
}

// All is every level in one.
func (c *Collected) All() Level {
	var all Level
	for _, l := range c.Levels {
		all.Merge(l)
	}
	return all
}
