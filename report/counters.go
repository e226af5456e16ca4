package report

import "github.com/golaunch/golaunch/job"

// Counter names one number of Counters.
type Counter int

// The counters of one agent. Those of its streams follow; see Sent and
// Received.
const (
	Puts      Counter = iota // puts of local ranks
	Gets                     // gets of local ranks
	Hits                     // gets answered from what the node held
	Misses                   // gets for which another node was asked
	NotFound                 // gets answered "not found"
	Evictions                // entries that made room for others
	Resident                 // bytes that the bulletin boards hold
	CPU                      // microseconds of processor time of the agent
	Memory                   // bytes of memory that the agent took at its peak
	streamsBegin
)

// NumStreams is how many streams a link has, and StreamNames what they are
// called.
const NumStreams = 5

// StreamNames are the names of the streams, in the order of package link.
var StreamNames = [NumStreams]string{"control", "kvs", "data", "stdio", "service"}

// Each stream has four counters.
const (
	sentMessages Counter = iota
	sentBytes
	receivedMessages
	receivedBytes
	perStream
)

const numCounters = int(streamsBegin) + NumStreams*int(perStream)

// Counters are the numbers of one agent, or what becomes of several. They
// travel as an array.
type Counters [numCounters]uint64

// Count is a number of messages and their bytes, headers of frames included.
type Count struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

// Add adds other to c.
func (c *Count) Add(other Count) {
	c.Messages += other.Messages
	c.Bytes += other.Bytes
}

func (c *Counters) stream(s int) []uint64 {
	at := int(streamsBegin) + s*int(perStream)
	return c[at : at+int(perStream)]
}

// SetStream sets what was sent and received on stream s over all links.
func (c *Counters) SetStream(s int, sent, received Count) {
	copy(c.stream(s), []uint64{sent.Messages, sent.Bytes, received.Messages, received.Bytes})
}

// Sent is what was sent on stream s over all links.
func (c *Counters) Sent(s int) Count {
	v := c.stream(s)
	return Count{v[sentMessages], v[sentBytes]}
}

// Received is what was received on stream s over all links.
func (c *Counters) Received(s int) Count {
	v := c.stream(s)
	return Count{v[receivedMessages], v[receivedBytes]}
}

// Level is the agents that are equally far from the root.
type Level struct {
	Agents int      `cbor:"1,keyasint"`
	Sum    Counters `cbor:"2,keyasint"`
	Max    Counters `cbor:"3,keyasint"` // of each number the largest
}

// One is the Level of one agent.
func One(c Counters) Level { return Level{Agents: 1, Sum: c, Max: c} }

// Merge folds another part of the same level in.
func (l *Level) Merge(part Level) {
	l.Agents += part.Agents
	for i := range l.Sum {
		l.Sum[i] += part.Sum[i]
		l.Max[i] = max(l.Max[i], part.Max[i])
	}
}

// Collected is what a subtree has to report.
type Collected struct {
	Levels []Level `cbor:"1,keyasint"` // of the subtree, its own root first
	Nodes  []Node  `cbor:"2,keyasint"` // where records are asked for
	Ranks  []Rank  `cbor:"3,keyasint"` // where records are asked for
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
