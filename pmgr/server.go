package pmgr

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
)

// World places the ranks.
type World struct {
	Nodes [][]job.Rank // the ranks of each node that has some
	Node  int          // this one
	// Trees says that clients build a tree of their own: they check in, gather,
	// close and are gone, perhaps before it could be seen whose connection that
	// was.
	Trees bool
}

// Server speaks PMGR with one node's ranks. Calls must not overlap.
type Server struct {
	world World
	size  int
	most  int     // ranks on a node
	node  []int32 // of each rank
	local []*rank
	ranks map[job.Rank]*rank
	conns map[Conn]*conn
	over  bool // nothing can go on, or all is done

	called int // local ranks whose packet is here
	gone   *rank
	doubt  *doubt
	step   step
	call   call    // of the operation under way
	calls  [2]call // while blaming: the largest and the smallest
	recv   []byte  // bytes that Done brings
}

// rank is one local rank.
type rank struct {
	rank   job.Rank
	conn   Conn
	in     bool // checked in
	held   []byte
	packet packet
	called bool   // packet is here, with its data
	closed bool   // after CLOSE
	hungUp bool   // its connection is closed
	ended  bool   // its process has
	words  *Abort // that it aborts, told by itself or by nobody knows whom
}

// leaves says that a rank has called CLOSE, and others not all.
func (r *rank) leaves() bool { return r.called && r.packet.op == opClose }

// doubt is a rank that calls CLOSE while others call something else. Clients do
// that before they abort over another connection, which explains more than that
// the calls differ.
type doubt struct {
	rank *rank
	err  error
}

// conn is one connection.
type conn struct {
	number Conn
	sure   bool // it belongs to our user
	held   []byte
	rank   *rank // that it is of
	abort  *rank // that it tells the abort of
}

// New returns the server of a node.
func New(w World) (*Server, error) {
	s := &Server{world: w, ranks: map[job.Rank]*rank{}, conns: map[Conn]*conn{}}
	for _, list := range w.Nodes {
		s.size += len(list)
		s.most = max(s.most, len(list))
	}
	if s.size > maxRanks || w.Node < 0 || w.Node >= len(w.Nodes) {
		return nil, fmt.Errorf("pmgr: node %d of %d, with %d ranks in all", w.Node, len(w.Nodes), s.size)
	}
	s.node = make([]int32, s.size)
	for i := range s.node {
		s.node[i] = -1
	}
	for n, list := range w.Nodes {
		for _, r := range list {
			if r < 0 || int(r) >= s.size || s.node[r] >= 0 {
				return nil, fmt.Errorf("pmgr: rank %d among %d is listed twice, or does not exist", r, s.size)
			}
			s.node[r] = int32(n)
		}
	}
	for _, r := range w.Nodes[w.Node] {
		x := &rank{rank: r}
		s.local, s.ranks[r] = append(s.local, x), x
	}
	return s, nil
}

// Open adds a connection. sure: its other end is known to belong to our user. A rank
// that aborts may have closed it before that could be seen.
func (s *Server) Open(c Conn, sure bool) { s.conns[c] = &conn{number: c, sure: sure} }

// Wants tells whether a connection is to be read.
func (s *Server) Wants(c Conn) bool {
	x := s.conns[c]
	return x != nil && !(x.rank != nil && x.rank.called)
}

// Calls tells in which operation a local rank waits, if it waits: "a barrier".
func (s *Server) Calls(r job.Rank) (text string, some bool) {
	x := s.ranks[r]
	if x == nil || !x.called || x.closed || x.ended || s.over {
		return "", false
	}
	return x.packet.call.String(), true
}

// Receive takes bytes that came over a connection, cut anywhere; they stay the
// caller's.
func (s *Server) Receive(c Conn, data []byte, out *Effects) {
	x := s.conns[c]
	switch {
	case x == nil:
		return
	case x.rank != nil:
		r := x.rank
		if s.over {
			return
		}
		r.held = append(r.held, data...)
		s.read(r, out)
		s.begin(out)
		return
	}
	x.held = append(x.held, data...)
	if x.abort == nil && len(x.held) >= 8 {
		s.identify(x, out)
	}
	if x.abort != nil {
		s.abort(x, false, out)
	}
}

var errAfterClose = errors.New("bytes after CLOSE")

// identify recognises a connection by its first two numbers: of a rank that checks in,
// or of one that aborts.
func (s *Server) identify(x *conn, out *Effects) {
	first, r := number(x.held, 0), s.ranks[job.Rank(number(x.held, 1))]
	switch {
	case r == nil:
		s.refuse(x, fmt.Errorf("it is of rank %d, which is not on this node", number(x.held, 1)), out)
	case first == Version && !r.in && (x.sure || s.world.Trees):
		r.in, r.conn, r.held, x.rank = true, x.number, x.held[8:], r
		x.held = nil
		out.CheckIns = append(out.CheckIns, CheckIn{x.number, r.rank})
		if s.gone != nil {
			s.violate(s.gone, fmt.Errorf("it ended without a check-in, but rank %d checks in", r.rank), out)
			return
		}
		s.read(r, out)
		s.begin(out)
	case first == Version && !r.in:
		s.refuse(x, fmt.Errorf("it checks rank %d in, but has no owner", r.rank), out)
	case first == Version && x.sure && !r.closed && !r.leaves():
		s.violate(r, fmt.Errorf("a second check-in, or an abort with code %d", first), out)
	case first > 0 && first < Version && !r.in && x.sure:
		s.violate(r, fmt.Errorf("version %d of the protocol, or an abort with code %d before the check-in; version %d is served", first, first, Version), out)
	default:
		x.abort = r
	}
}

// abort tells of an abort once its message is here, or will never be.
func (s *Server) abort(x *conn, eof bool, out *Effects) {
	a := Abort{Rank: x.abort.rank, Code: int(number(x.held, 0)), Sure: x.sure}
	if len(x.held) >= 12 {
		length := int(number(x.held, 2))
		if length < 0 || length > maxText {
			length = 0
		}
		text := x.held[12:]
		if len(text) < length && !eof {
			return
		}
		text, _, _ = bytes.Cut(text[:min(length, len(text))], []byte{0})
		a.Text = string(text)
	} else if !eof {
		return
	}
	x.abort.words = &a
	if s.doubt != nil && x.abort.leaves() {
		s.violate(x.abort, s.doubt.err, out)
	} else {
		out.Aborts = append(out.Aborts, a)
	}
	s.drop(x, out)
}

// EOF says that a connection was closed by its other end.
func (s *Server) EOF(c Conn, out *Effects) {
	x := s.conns[c]
	if x == nil {
		return
	}
	if x.abort != nil {
		s.abort(x, true, out)
		return
	}
	if r := x.rank; r != nil {
		r.hungUp = true
		s.miss(r, out)
	}
	s.drop(x, out)
}

// miss deals with a rank that has hung up, once its earlier operations are done.
func (s *Server) miss(r *rank, out *Effects) {
	switch {
	case s.over || !r.hungUp || r.called || r.closed:
	case r.ended:
		s.violate(r, errors.New("it ended without CLOSE"), out)
	default:
		out.Hangups = append(out.Hangups, Hangup{r.rank})
	}
}

func (s *Server) drop(x *conn, out *Effects) {
	delete(s.conns, x.number)
	out.Closes = append(out.Closes, x.number)
}

func (s *Server) refuse(x *conn, err error, out *Effects) {
	out.Refusals = append(out.Refusals, Refusal{x.number, err})
	s.drop(x, out)
}

// violate ends everything. That somebody said of the rank that it aborts is the better
// explanation, from any source: the rank has broken the protocol.
func (s *Server) violate(r *rank, err error, out *Effects) {
	switch {
	case s.over:
	case r.words != nil:
		a := *r.words
		a.Sure = true
		out.Aborts = append(out.Aborts, a)
	default:
		out.Violations = append(out.Violations, Violation{r.rank, err})
	}
	s.over = true
}

// suspect gives a rank that leaves before others do time to say why, or to end.
func (s *Server) suspect(r *rank, err error, out *Effects) {
	switch {
	case s.over || s.doubt != nil:
	case r.words != nil || r.ended:
		s.violate(r, err, out)
	default:
		s.doubt = &doubt{r, err}
		out.Hangups = append(out.Hangups, Hangup{r.rank})
	}
}

// Vanished says that a rank that hung up lives on.
func (s *Server) Vanished(r job.Rank, out *Effects) {
	x := s.ranks[r]
	switch {
	case s.doubt != nil && s.doubt.rank == x:
		s.violate(x, s.doubt.err, out)
	case x.hungUp && !x.called && !x.closed:
		s.violate(x, errors.New("it closed its connection without CLOSE"), out)
	}
}

// Ended reports that a rank's process has ended without a failure. Call it after
// Receive of all bytes of the rank.
func (s *Server) Ended(r job.Rank, out *Effects) {
	x := s.ranks[r]
	x.ended = true
	if s.doubt != nil && s.doubt.rank == x {
		s.violate(x, s.doubt.err, out)
		return
	}
	if x.in {
		s.miss(x, out)
		return
	}
	if s.over || s.size == 1 {
		return
	}
	for _, y := range s.local {
		if y.in {
			s.violate(x, fmt.Errorf("it ended without a check-in, but rank %d has checked in", y.rank), out)
			return
		}
	}
	if s.gone == nil { // other nodes' ranks may wait for it
		s.gone = x
		s.start(call{op: opNone}, out)
	}
}

// read takes a rank's packet, once it is whole.
func (s *Server) read(r *rank, out *Effects) {
	for !s.over && !r.called {
		p, err := s.packet(r.rank, r.held)
		if err != nil {
			s.violate(r, err, out)
		}
		if err != nil || p.head == 0 || len(r.held)-p.head < p.data {
			return
		}
		switch {
		case p.op == opOpen && p.size != int32(r.rank):
			s.violate(r, fmt.Errorf("OPEN of rank %d", p.size), out)
		case p.op == opOpen: // reserved; it asks for nothing
			r.held = r.held[p.head:]
		case p.op == opAbort:
			out.Aborts = append(out.Aborts, Abort{Rank: r.rank, Code: int(p.size), Sure: true})
			s.over = true
		default:
			r.packet, r.called = p, true
			s.called++
			for _, other := range s.local {
				if other.called && other.packet.call != p.call {
					s.differ(r, other, out)
					return
				}
			}
		}
	}
}

// differ deals with two local ranks that call different things.
func (s *Server) differ(r, other *rank, out *Effects) {
	if other.leaves() {
		r, other = other, r
	}
	err := fmt.Errorf("it calls %v, but rank %d %v", r.packet.call, other.rank, other.packet.call)
	if r.leaves() {
		s.suspect(r, err, out)
		return
	}
	s.violate(r, err, out)
}

// data returns the bytes that a rank sent with its call.
func (r *rank) data() []byte { return r.held[r.packet.head:][:r.packet.data] }
