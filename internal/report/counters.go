package report

// Counter names one number of Counters.
type Counter int

// The counters of one agent. Those of its streams follow; see Sent and Received. A new
// one is a line here, in columns, and its name in the report below;
// internal/agent/jobs/accounts.go counts.
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

// columns are the counters as --stats shows them, in its order: a sum, or as show has
// it.
var columns = []struct {
	head string
	of   Counter
	show func(tableRow, Counter) string
}{
	{"puts", Puts, tableRow.sum},
	{"gets", Gets, tableRow.sum},
	{"hits", Hits, tableRow.sum},
	{"misses", Misses, tableRow.sum},
	{"not found", NotFound, tableRow.sum},
	{"evicted", Evictions, tableRow.sum},
	{"bytes held", Resident, tableRow.bytes},
	{"CPU s", CPU, tableRow.seconds},
	{"memory", Memory, tableRow.bytes},
}

// CountersJSON are Counters with names.
type CountersJSON struct {
	Board   Board           `json:"board"`
	Agent   Agent           `json:"agent"`
	Streams map[string]Flow `json:"streams"` // by StreamNames
}

// Board is the counters of the bulletin board.
type Board struct {
	Puts      uint64 `json:"puts"`
	Gets      uint64 `json:"gets"`
	Hits      uint64 `json:"hits"`
	Misses    uint64 `json:"misses"`
	NotFound  uint64 `json:"not_found"`
	Evictions uint64 `json:"evictions"`
	Resident  uint64 `json:"resident_bytes"`
}

// Agent holds the resources that agents used themselves.
type Agent struct {
	CPU    float64 `json:"cpu_seconds"`
	Memory uint64  `json:"max_rss_bytes"`
}

// named gives the counters their names of the report.
func named(c *Counters) CountersJSON {
	n := CountersJSON{
		Board: Board{
			Puts: c[Puts], Gets: c[Gets], Hits: c[Hits], Misses: c[Misses], NotFound: c[NotFound],
			Evictions: c[Evictions], Resident: c[Resident],
		},
		Agent:   Agent{CPU: float64(c[CPU]) / 1e6, Memory: c[Memory]},
		Streams: map[string]Flow{},
	}
	for s, name := range StreamNames {
		n.Streams[name] = Flow{c.Sent(s), c.Received(s)}
	}
	return n
}

// NumStreams is the number of streams of a link.
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

// Counters are the numbers of one agent, or the sums of several. They travel as an
// array.
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

// SetStream sets the counts of stream s over all links.
func (c *Counters) SetStream(s int, sent, received Count) {
	copy(c.stream(s), []uint64{sent.Messages, sent.Bytes, received.Messages, received.Bytes})
}

// Sent counts bytes and frames sent on stream s over all links.
func (c *Counters) Sent(s int) Count {
	v := c.stream(s)
	return Count{v[sentMessages], v[sentBytes]}
}

// Received counts bytes and frames received on stream s over all links.
func (c *Counters) Received(s int) Count {
	v := c.stream(s)
	return Count{v[receivedMessages], v[receivedBytes]}
}
