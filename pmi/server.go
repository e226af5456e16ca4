package pmi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// Server speaks PMI-1 and PMI-2 with one node's ranks of one world. Calls must
// not overlap.
type Server struct {
	world   World
	attrs   map[string]string // reserved keys and their values
	clients map[job.Rank]*client
	order   []*client // by rank
	node    nodeAttrs
	groups  map[string]*group // barriers under way, by key

	// The tables of command.go. Not used there, as commands may have others read: to
	// the compiler, the tables would be made of themselves.
	commands1 []command[lineCommand]
	commands2 []command[messageCommand]
}

// client is the state of one rank's connection.
type client struct {
	rank  job.Rank
	phase Phase
	wait  Op  // operation that the next request waits for; 0 for none
	due   due // the form of that reply
	// preput is the result of a waiting get whose key nobody has put.
	preput    string
	hasPreput bool
	// fences holds the replies due for fences that the client has entered,
	// oldest first. There is more than one only where it need not wait.
	fences []due
	// ahead counts replies due beside wait: of fences, node attributes and
	// groups that do not hold the connection up.
	ahead    int
	attached bool // named by Attach
	reading  bool // inside consume
	deaf     bool // aborted, broken or gone: nothing more is read
	spawn    *spawnLines
	ring     *ring // under way
	rings    int   // rings completed
	// held is input that arrived but could not be used yet: an incomplete request, or
	// bytes sent ahead of a reply. held[:used] is done with.
	held []byte
	used int
}

// due is the form of a reply that is still to come.
type due struct {
	cmd    string // PMI-2: the request's name; "" is PMI-1
	thrid  string // PMI-2: to be echoed, often ""
	tag    int    // PMI 1.2: the barrier's tag
	tagged bool   // PMI 1.2: tag is part of the reply
	aside  bool   // other requests are read meanwhile
	procs  int    // spawn: the processes asked for
	coded  bool   // spawn: a refusal is told by error codes
}

// maxAhead bounds the replies that one client may let come in its own time.
const maxAhead = 1024

// NewServer makes the server for those ranks of w that live on this node.
func NewServer(w World, local []job.Rank) (*Server, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		world: w, attrs: map[string]string{}, clients: map[job.Rank]*client{}, groups: map[string]*group{},
		commands1: commands1, commands2: commands2,
	}
	for key, value := range w.Attributes {
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
		// The usual case: whole requests, nothing held, no copy.
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

// consume deals with the complete requests of b until one holds the
// connection up, and returns how many bytes it used.
func (s *Server) consume(c *client, b []byte, out *Effects) (used int) {
	c.reading = true // effects at another rank may come back to this one
	defer func() { c.reading = false }()
	for used < len(b) && c.wait == 0 && !c.deaf {
		rest := b[used:]
		f, size := oneLine, 0
		if c.spawn == nil {
			var err error
			if f, size, err = classify(rest); err != nil {
				s.violate(c, firstLine(rest), err, out)
				break
			}
		}
		switch {
		case f == framed && len(rest) >= headerSize+size:
			used += headerSize + size
			s.message(c, rest[headerSize:headerSize+size], out)
			continue
		case f == oneLine:
			end := bytes.IndexByte(rest, '\n')
			if end > MaxLine {
				s.violate(c, rest, errLongLine, out)
				continue
			}
			if end >= 0 {
				used += end + 1
				s.line(c, rest[:end], out)
				continue
			}
		}
		break // incomplete
	}
	return used
}

var errLongLine = fmt.Errorf("line of more than %d bytes", MaxLine)

// limit ends a client that sends without end or without waiting. Room is for one PMI-2
// message with its header, a little more than a line.
func (s *Server) limit(c *client, out *Effects) {
	held := len(c.held) - c.used
	switch {
	case c.deaf || held <= MaxLine:
	case c.wait != 0:
		s.violate(c, nil, fmt.Errorf("more than %d bytes were sent ahead while a %v is not answered", MaxLine, c.wait), out)
	case c.spawn != nil || c.held[c.used] == 'c' || c.held[c.used] == 'm':
		s.violate(c, c.held[c.used:], errLongLine, out)
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

// ask asks the bulletin board for a key's value; its reply has form d.
func (s *Server) ask(c *client, d due, key []byte, out *Effects) {
	c.preput, c.hasPreput = s.world.Preput[string(key)]
	out.ask(c, Get, d, key, nil)
}

// silence lets nothing more in from a client nor out to it.
func (c *client) silence() {
	c.deaf, c.wait = true, 0
	c.held, c.used = nil, 0
	c.fences, c.spawn, c.ring = nil, nil, nil
}

// violate reports a breach of the protocol and stops reading from the client.
func (s *Server) violate(c *client, line []byte, err error, out *Effects) {
	out.Violations = append(out.Violations, Violation{Rank: c.rank, Line: clip(line), Err: err})
	c.silence()
}

// countAhead counts a reply that does not hold the connection up, and reports
// whether the client may have one more of them.
func (s *Server) countAhead(c *client, line []byte, out *Effects) bool {
	if c.ahead == maxAhead {
		s.violate(c, line, fmt.Errorf("more than %d requests wait for other ranks", maxAhead), out)
		return false
	}
	c.ahead++
	return true
}

// enter lets a client into the world's fence; its reply has form d. A client
// that is in already enters the next one once that is complete.
func (s *Server) enter(c *client, d due, line []byte, out *Effects) {
	if d.aside && !s.countAhead(c, line, out) {
		return
	}
	if !d.aside {
		c.wait = Fence
	}
	if c.fences = append(c.fences, d); len(c.fences) == 1 {
		out.Requests = append(out.Requests, Request{Rank: c.rank, Op: Fence})
	}
}
