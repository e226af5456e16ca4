package pmgr

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree/record"
)

// step is a state of the operation under way.
type step int

const (
	idle     step = iota
	agreeing      // on the call
	moving        // the data
	blaming       // there is no agreement: who calls what?
)

// begin starts an operation if all local ranks have called it.
func (s *Server) begin(out *Effects) {
	if s.step == idle && !s.over && s.doubt == nil && s.called == len(s.local) {
		s.start(s.local[0].packet.call, out)
	}
}

// start has the nodes agree on a call: the largest and the smallest must be the
// same.
func (s *Server) start(c call, out *Effects) {
	s.call = c
	w := c.word()
	s.combine(agreeing, record.Max, w, ^w, out)
}

// combine has two numbers of each node combined.
func (s *Server) combine(next step, fn uint8, a, b uint64, out *Effects) {
	send := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b)
	s.ask(next, Request{Op: record.AllReduce, Fn: record.Uint64 | fn, Send: send, Recv: make([]byte, len(send))}, out)
}

func (s *Server) ask(next step, q Request, out *Effects) {
	s.step, s.recv = next, q.Recv
	out.Requests = append(out.Requests, q)
}

// Done completes the request, whose Recv is filled in. After a failure nothing goes on.
func (s *Server) Done(err error, out *Effects) {
	if err != nil {
		s.over = true
	}
	if s.over || s.step == idle {
		return
	}
	a, b := uint64(0), uint64(0)
	if s.step != moving {
		a, b = binary.LittleEndian.Uint64(s.recv), binary.LittleEndian.Uint64(s.recv[8:])
	}
	switch {
	case s.step == blaming:
		s.blame(a, b, out)
	case s.step == agreeing && a != ^b:
		s.disagree(a, ^b, out)
	case s.step == agreeing && s.call.op == opNone:
		s.step = idle // no program of PMGR, it seems
	case s.step == agreeing && s.call.size > 0:
		s.move(out)
	default:
		s.finish(out)
	}
}

// disagree asks for the lowest rank that makes the largest call, and for that of
// the smallest.
func (s *Server) disagree(most, least uint64, out *Effects) {
	who := s.local[0]
	for _, r := range s.local {
		if r.rank < who.rank {
			who = r
		}
	}
	if s.gone != nil {
		who = s.gone
	}
	a, b := uint64(math.MaxUint64), uint64(math.MaxUint64)
	switch s.call.word() {
	case most:
		a = uint64(who.rank)
	case least:
		b = uint64(who.rank)
	}
	s.combine(blaming, record.Min, a, b, out)
	s.calls = [2]call{unpack(most), unpack(least)}
}

// blame reports the calls of two ranks, on the node of the first, or of the one that
// leaves.
func (s *Server) blame(a, b uint64, out *Effects) {
	mine, other := s.calls[0], s.calls[1]
	leaves := other.op == opClose && mine.op != opNone
	if leaves {
		a, b, mine, other = b, a, other, mine
	}
	r := s.ranks[job.Rank(a)]
	switch {
	case r == nil:
		s.over = true
	case leaves:
		s.suspect(r, fmt.Errorf("it calls %v, but rank %d %v", mine, b, other), out)
	case mine.op == opNone:
		s.violate(r, fmt.Errorf("it ended without a check-in, but rank %d calls %v", b, other), out)
	default:
		s.violate(r, fmt.Errorf("it calls %v, but rank %d %v", mine, b, other), out)
	}
}

// move puts the local parts together and asks for the operation. Each node's
// part has room for as many ranks as the largest node has.
func (s *Server) move(out *Effects) {
	c, nodes, size := s.call, len(s.world.Nodes), int(s.call.size)
	part := s.most * size
	rootNode := int(s.node[c.root])
	here := rootNode == s.world.Node
	q := Request{Root: rootNode}
	switch c.op {
	case opBcast:
		q.Op, q.Recv = record.Bcast, make([]byte, size)
		if here {
			copy(q.Recv, s.root().data())
		}
		q.Send = q.Recv
	case opGather, opAllGather:
		q.Op, q.Send = record.Gather, make([]byte, part)
		if c.op == opAllGather {
			q.Op, q.Root = record.AllGather, 0
		}
		for i, r := range s.local {
			copy(q.Send[i*size:], r.data())
		}
		if here || c.op == opAllGather {
			q.Recv = make([]byte, nodes*part)
		}
	case opScatter:
		q.Op, q.Recv = record.Scatter, make([]byte, part)
		if here {
			q.Send = make([]byte, nodes*part)
			data := s.root().data()
			s.eachRank(func(r, n, i int) { copy(q.Send[n*part+i*size:], data[r*size:][:size]) })
		}
	case opAllToAll: // to each node a table: a line per local rank, a column per rank there
		q.Op, q.Root = record.AllToAll, 0
		table := s.most * part
		q.Send, q.Recv = make([]byte, nodes*table), make([]byte, nodes*table)
		for line, local := range s.local {
			data := local.data()
			s.eachRank(func(r, n, i int) { copy(q.Send[n*table+line*part+i*size:], data[r*size:][:size]) })
		}
	}
	s.ask(moving, q, out)
}

// eachRank calls f for each rank, with its node and its position there.
func (s *Server) eachRank(f func(r, node, i int)) {
	for n, list := range s.world.Nodes {
		for i, r := range list {
			f(int(r), n, i)
		}
	}
}

// root returns the call's root, a local rank.
func (s *Server) root() *rank { return s.ranks[job.Rank(s.call.root)] }

// finish answers the local ranks and goes on with their next calls.
func (s *Server) finish(out *Effects) {
	c, size := s.call, int(s.call.size)
	part := s.most * size
	switch c.op {
	case opBarrier:
		data := binary.NativeEndian.AppendUint32(nil, uint32(opBarrier))
		for _, r := range s.local {
			s.reply(r, data, out)
		}
	case opBcast:
		for _, r := range s.local {
			s.reply(r, s.recv[:size], out)
		}
	case opGather, opAllGather:
		if c.op == opGather && int(s.node[c.root]) != s.world.Node {
			break
		}
		all := make([]byte, s.size*size)
		if size > 0 {
			s.eachRank(func(r, n, i int) { copy(all[r*size:], s.recv[n*part+i*size:][:size]) })
		}
		for _, r := range s.local {
			if c.op == opAllGather || r == s.root() {
				s.reply(r, all, out)
			}
		}
	case opScatter:
		for i, r := range s.local {
			if size > 0 {
				s.reply(r, s.recv[i*size:][:size], out)
			}
		}
	case opAllToAll:
		for column, local := range s.local {
			all := make([]byte, s.size*size)
			if size > 0 {
				s.eachRank(func(r, n, i int) { copy(all[r*size:], s.recv[(n*s.most+i)*part+column*size:][:size]) })
			}
			s.reply(local, all, out)
		}
	}
	s.step, s.recv, s.called, out.Resumed = idle, nil, 0, true
	for _, r := range s.local {
		r.held = append([]byte(nil), r.held[r.packet.head+r.packet.data:]...)
		r.called = false
		if c.op == opClose {
			s.leave(r, out)
		}
	}
	s.over = s.over || c.op == opClose
	for _, r := range s.local {
		s.read(r, out)
	}
	for _, r := range s.local { // it may have called before it hung up
		s.miss(r, out)
	}
	s.begin(out)
}

func (s *Server) reply(r *rank, data []byte, out *Effects) {
	if len(data) > 0 && !r.hungUp {
		out.Replies = append(out.Replies, Reply{r.conn, data})
	}
}

// leave ends a rank's connection after CLOSE.
func (s *Server) leave(r *rank, out *Effects) {
	r.closed = true
	if len(r.held) > 0 {
		s.violate(r, errAfterClose, out)
	}
	if x := s.conns[r.conn]; x != nil && x.rank == r {
		s.drop(x, out)
	}
}
