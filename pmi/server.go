package pmi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/job"
)

// Limits of the protocol as get_maxes reports them, in bytes. Each counts a
// terminating NUL that never travels, so that the longest value has
// MaxValue−1 bytes.
const (
	MaxKVSName = 256
	MaxKey     = 64
	MaxValue   = 1024
)

// MaxLine bounds what a rank may send before a line is complete, and what it
// may send ahead of a reply, in bytes.
const MaxLine = 64 << 10

// mappingKey is where clients look for the ranks of each node.
const mappingKey = "PMI_process_mapping"

// World is what the server tells the ranks about their world.
type World struct {
	Size    int    // ranks, at least 1
	KVSName string // name of the key-value space: one word, shorter than MaxKVSName
	// UniverseSize is how many ranks the resources could hold; -1 where that
	// is not known.
	UniverseSize int
	// ProcessMapping is the value of PMI_process_mapping, "(vector,...)". A
	// client is told "not found" where it is empty or too long for a value,
	// and then gathers host names itself.
	ProcessMapping string
	// AppNum gives the index of the app a rank belongs to.
	AppNum func(job.Rank) int
	// Attributes are further reserved keys that the ranks may get, such as
	// PMI_hwloc_xmlfile; each begins with "PMI_".
	Attributes map[string]string
}

// Server speaks PMI-1.1 with one node's ranks of one world. Calls must not
// overlap.
type Server struct {
	world   World
	attrs   map[string]string // reserved keys and their values
	clients map[job.Rank]*client
	order   []*client // by rank
}

// client is the state of one rank's connection.
type client struct {
	rank  job.Rank
	phase Phase
	wait  Op   // the Request under way; 0 for none
	deaf  bool // aborted, broken or gone: nothing more is read
	spawn spawn
	// held is input that arrived but could not be used yet: an incomplete
	// line, or what was sent ahead of a reply. held[:used] is done with.
	held []byte
	used int
}

// NewServer makes the server for those ranks of w that live on this node.
func NewServer(w World, local []job.Rank) (*Server, error) {
	switch {
	case w.Size < 1:
		return nil, fmt.Errorf("pmi: a world of %d ranks: at least 1 is needed", w.Size)
	case w.KVSName == "" || len(w.KVSName) >= MaxKVSName || !isWord(w.KVSName):
		return nil, fmt.Errorf("pmi: kvsname %q: must be one word of at most %d bytes", w.KVSName, MaxKVSName-1)
	case w.UniverseSize < -1 || w.UniverseSize == 0:
		return nil, fmt.Errorf("pmi: universe size %d: must be positive, or -1 if unknown", w.UniverseSize)
	case w.AppNum == nil:
		return nil, errors.New("pmi: the world has no AppNum")
	}
	s := &Server{world: w, attrs: map[string]string{}, clients: map[job.Rank]*client{}}
	for key, value := range w.Attributes {
		if !strings.HasPrefix(key, reservedPrefix) || len(key) >= MaxKey || !isWord(key) {
			return nil, fmt.Errorf("pmi: attribute %q: must be one word that begins with %s", key, reservedPrefix)
		}
		if err := s.reserve(key, value); err != nil {
			return nil, err
		}
	}
	if err := s.reserve(mappingKey, w.ProcessMapping); err != nil {
		return nil, err
	}
	for _, r := range local {
		switch {
		case r < 0 || int(r) >= w.Size:
			return nil, fmt.Errorf("pmi: rank %d in a world of %d", r, w.Size)
		case s.clients[r] != nil:
			return nil, fmt.Errorf("pmi: rank %d is listed twice", r)
		}
		s.clients[r] = &client{rank: r}
		s.order = append(s.order, s.clients[r])
	}
	slices.SortFunc(s.order, func(a, b *client) int { return cmp.Compare(a.rank, b.rank) })
	return s, nil
}

// reserve lets ranks get key, unless value does not fit the protocol.
func (s *Server) reserve(key, value string) error {
	if value == "" || len(value) >= MaxValue {
		return nil // "not found" is what every client copes with
	}
	if !isWord(value) { // older clients end a value at a blank
		return fmt.Errorf("pmi: value %q of %s: blanks and control characters are not allowed", value, key)
	}
	s.attrs[key] = value
	return nil
}

// isWord reports whether s can be one token of a reply.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// Receive takes bytes that rank r sent, cut anywhere. data is the caller's
// again as soon as the requests in out are dealt with.
func (s *Server) Receive(r job.Rank, data []byte, out *Effects) {
	c := s.clients[r]
	if c == nil {
		out.Violations = append(out.Violations, Violation{Rank: r, Err: errors.New("the rank is not on this node")})
		return
	}
	if c.deaf {
		return
	}
	if len(c.held) == 0 && c.wait == 0 {
		// The usual case: whole lines, nothing held, no copy.
		n := s.consume(c, data, out)
		if c.deaf {
			return
		}
		c.held = append(c.held, data[n:]...)
	} else {
		if c.used > 0 {
			c.held = c.held[:copy(c.held, c.held[c.used:])]
			c.used = 0
		}
		c.held = append(c.held, data...)
		s.resume(c, out)
	}
	s.limit(c, out)
}

// resume uses held input as far as possible.
func (s *Server) resume(c *client, out *Effects) {
	n := s.consume(c, c.held[c.used:], out)
	if c.deaf {
		return
	}
	c.used += n
	if c.used == len(c.held) {
		c.held, c.used = c.held[:0], 0
	}
}

// consume deals with the complete lines of b until one needs a Done call, and
// returns how many bytes it used.
func (s *Server) consume(c *client, b []byte, out *Effects) (used int) {
	for used < len(b) && c.wait == 0 && !c.deaf {
		rest := b[used:]
		if !c.spawn.active {
			if err := foreign(rest); err != nil {
				s.violate(c, firstLine(rest), err, out)
				break
			}
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		used += end + 1
		s.line(c, rest[:end], out)
	}
	return used
}

// limit ends a client that sends without end or without waiting.
func (s *Server) limit(c *client, out *Effects) {
	switch {
	case c.deaf || len(c.held)-c.used <= MaxLine:
	case c.wait != 0:
		s.violate(c, nil, fmt.Errorf("more than %d bytes were sent ahead while a %v is not answered", MaxLine, c.wait), out)
	default:
		s.violate(c, c.held[c.used:], fmt.Errorf("line of more than %d bytes", MaxLine), out)
	}
}

// EOF says that rank r closed its connection, or that it is known to be gone.
func (s *Server) EOF(r job.Rank, out *Effects) {
	c := s.clients[r]
	if c == nil || c.deaf {
		return
	}
	if c.phase == InInit || c.phase == Running {
		out.Hangups = append(out.Hangups, Hangup{Rank: r})
	}
	c.silence()
}

// silence lets nothing more in from a client nor out to it.
func (c *client) silence() {
	c.deaf, c.wait = true, 0
	c.held, c.used = nil, 0
}

// violate reports a breach of the protocol and stops reading from the client.
func (s *Server) violate(c *client, line []byte, err error, out *Effects) {
	out.Violations = append(out.Violations, Violation{Rank: c.rank, Line: clip(line), Err: err})
	c.silence()
}

// PutDone answers the Put request of rank r; err is why the bulletin board
// refused it, or nil. Like its siblings it does nothing if the rank does not
// wait for it any more.
func (s *Server) PutDone(r job.Rank, err error, out *Effects) {
	c := s.done(r, Put)
	if c == nil {
		return
	}
	if err != nil {
		out.say(r, "cmd=put_result rc=-1 msg="+word(err.Error())+"\n")
	} else {
		out.say(r, "cmd=put_result rc=0\n")
	}
	s.goOn(c, out)
}

// GetDone answers the Get request of rank r. value is sent byte for byte and
// must not hold a line feed, which no put can bring in.
func (s *Server) GetDone(r job.Rank, value string, found bool, out *Effects) {
	c := s.done(r, Get)
	if c == nil {
		return
	}
	if found {
		sayValue(r, value, out)
	} else {
		out.say(r, "cmd=get_result rc=1 msg=key_not_found\n")
	}
	s.goOn(c, out)
}

// FenceDone releases every rank of this node that waits in the fence.
func (s *Server) FenceDone(out *Effects) {
	for _, c := range s.order {
		if c.wait != Fence {
			continue
		}
		c.wait = 0
		if c.phase == InInit {
			c.phase = Running
		}
		out.say(c.rank, "cmd=barrier_out\n")
		// A rank that enters the next fence here is not met again: each
		// client is visited once.
		s.goOn(c, out)
	}
}

// done ends the wait of rank r for op, or returns nil where there is none.
func (s *Server) done(r job.Rank, op Op) *client {
	c := s.clients[r]
	if c == nil || c.wait != op {
		return nil
	}
	c.wait = 0
	return c
}

// goOn uses what the client sent ahead of the reply it has now.
func (s *Server) goOn(c *client, out *Effects) {
	if len(c.held) > 0 {
		s.resume(c, out)
		s.limit(c, out)
	}
}
