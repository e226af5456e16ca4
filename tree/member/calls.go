package member

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/golaunch/golaunch/tree/record"
)

// refused returns a request that was wrong from the beginning.
func refused(format string, args ...any) *Request {
	q := &Request{}
	q.finish(fmt.Errorf(format, args...))
	return q
}

// Barrier is done when every member has begun it.
func (c *Comm) Barrier() *Request { return c.begin(&Request{op: record.Barrier}) }

// Bcast brings root's buf to everyone's.
func (c *Comm) Bcast(root int, buf []byte) *Request {
	return c.begin(&Request{op: record.Bcast, root: root, size: int64(len(buf)), send: buf, recv: buf})
}

// Gather brings everyone's send to root's recv, in the order of members. Others'
// recv is not used.
func (c *Comm) Gather(root int, send, recv []byte) *Request {
	if c.rank == root && len(recv) != c.size*len(send) {
		return refused("gather: %d bytes from each of %d members into %d", len(send), c.size, len(recv))
	}
	return c.begin(&Request{op: record.Gather, root: root, size: int64(len(send)), send: send, recv: recv})
}

// AllGather brings everyone's send to everyone's recv, in the order of members.
func (c *Comm) AllGather(send, recv []byte) *Request {
	if len(recv) != c.size*len(send) {
		return refused("allgather: %d bytes from each of %d members into %d", len(send), c.size, len(recv))
	}
	return c.begin(&Request{op: record.AllGather, size: int64(len(send)), send: send, recv: recv})
}

// Scatter brings each member its part of root's send. Others' send is not used.
func (c *Comm) Scatter(root int, send, recv []byte) *Request {
	if c.rank == root && len(send) != c.size*len(recv) {
		return refused("scatter: %d bytes to %d members with %d each", len(send), c.size, len(recv))
	}
	return c.begin(&Request{op: record.Scatter, root: root, size: int64(len(recv)), send: send, recv: recv})
}

// AllToAll brings part i of everyone's send to member i's recv, in the order of
// members.
func (c *Comm) AllToAll(send, recv []byte) *Request {
	if len(send) != len(recv) || len(send)%c.size != 0 {
		return refused("alltoall: %d and %d bytes among %d members", len(send), len(recv), c.size)
	}
	return c.begin(&Request{op: record.AllToAll, size: int64(len(send) / c.size), send: send, recv: recv})
}

// Reduce combines everyone's send, element by element, into root's recv. fn is
// one of package record's types and one of its functions; sums and products of floats
// are combined in an order that the tree and the placement of members fix. Others' recv is not used.
func (c *Comm) Reduce(root int, fn uint8, send, recv []byte) *Request {
	if c.rank == root && len(send) != len(recv) {
		return refused("reduce: %d bytes into %d", len(send), len(recv))
	}
	return c.combine(&Request{op: record.Reduce, root: root, fn: fn, size: int64(len(send)), send: send, recv: recv})
}

// AllReduce is Reduce with the result everywhere.
func (c *Comm) AllReduce(fn uint8, send, recv []byte) *Request {
	if len(send) != len(recv) {
		return refused("allreduce: %d bytes into %d", len(send), len(recv))
	}
	return c.combine(&Request{op: record.AllReduce, fn: fn, size: int64(len(send)), send: send, recv: recv})
}

func (c *Comm) combine(q *Request) *Request {
	if err := c.session.checkFunction(q.fn, q.size); err != nil {
		return refused("%v: %w", q.op, err)
	}
	return c.begin(q)
}

// checkFunction reports an error if a function cannot combine so many bytes.
func (s *Session) checkFunction(fn uint8, size int64) error {
	if record.Locates(fn) && !s.prober {
		return errors.New("this golaunch is older than minloc and maxloc")
	}
	return record.CheckFunction(fn, size)
}

// ReduceScatter combines everyone's send as AllReduce does, and gives each member its
// part of the outcome, in the order of members.
func (c *Comm) ReduceScatter(fn uint8, send, recv []byte) *Request {
	size := len(recv)
	if len(send) != c.size*size {
		return refused("reduce-scatter: %d bytes to %d members with %d each", len(send), c.size, size)
	}
	q := &Request{comm: c, recv: recv}
	all := make([]byte, len(send))
	q.part = c.AllReduce(fn, send, all)
	c.afterDone(q.part, func(err error) {
		if err == nil {
			copy(q.recv, all[c.rank*size:])
		}
		q.finish(err)
	})
	return q
}

// Sub makes a communicator of endpoints, each once, in the order given. All of
// them must call it, and no others. The first must make its communicators in
// the order in which the others ask for them.
func (s *Session) Sub(endpoints []int) *Request { return s.sub(endpoints, 0, 0) }

// SubFor is Sub for a call over c, which has a tag of LibraryTag, plus a multiple of
// 2^20: that and nothing else brings the members together, in spite of others they make
// meanwhile.
func (c *Comm) SubFor(tag int64, endpoints []int) *Request {
	return c.session.sub(endpoints, tag, int64(c.id))
}

func (s *Session) sub(endpoints []int, off, size int64) *Request {
	for _, e := range endpoints {
		if e < 0 || e >= s.size+s.nodes {
			return refused("a communicator with rank %d of %d and %d agents", e, s.size, s.nodes)
		}
	}
	body := record.AppendRuns(nil, endpoints)
	if len(endpoints) == 0 || len(body) > record.MaxBody {
		return refused("a communicator of %d ranks", len(endpoints))
	}
	q := &Request{send: body, tag: off, size: size}
	if s.err != nil {
		q.finish(s.err)
		return q
	}
	s.number++
	q.seq = s.number
	s.creates.add(q)
	return q
}

// Undefined is the colour of a member that wants no communicator of a Split.
const Undefined = -1

// Split makes a communicator of the members that name one colour, for each
// colour, in the order of their keys, and of their numbers in c where keys are
// equal. Colours are 0 to 2³¹−1, or Undefined.
func (c *Comm) Split(color, key int) *Request {
	if color < Undefined || color > math.MaxInt32 || key < math.MinInt32 || key > math.MaxInt32 {
		return refused("a split by colour %d and key %d, which must fit in 32 bits; colours are 0 or more, or %d for none", color, key, Undefined)
	}
	return c.begin(&Request{op: record.Split, send: record.AppendChoice(nil, uint32(int32(color)), int32(key))})
}

// Locate asks where a member is.
func (c *Comm) Locate(member int) *Request {
	if err := cmp.Or(c.check(member), c.session.err); err != nil {
		return refused("%w", err)
	}
	q := &Request{comm: c, root: member}
	q.countOpen()
	s := c.session
	s.number++
	q.seq = s.number
	s.asks.add(q)
	return q
}

// Location returns the outcome of a Locate: the member's number in the world (an
// agent's follow the ranks'), and its node.
func (r *Request) Location() (rank, node int) { return int(r.got), r.src }

// Free gives a communicator that Sub or Split made up. All members must call it,
// and begin nothing more over it. It is done when all have, and all that they
// have begun over it is complete.
func (c *Comm) Free() *Request {
	if c.gaveUp != nil {
		return refused("%w", c.gaveUp)
	}
	if c.id <= lastFixed {
		return refused("the world cannot be freed")
	}
	if c.freed || c.closing || c.freeing != nil {
		return refused("%w", ErrFreed)
	}
	c.freeing = &Request{comm: c}
	q := c.freeing
	c.freeIfIdle()
	return q
}

// freeIfIdle frees c if it is to be, and nothing is under way over it.
func (c *Comm) freeIfIdle() {
	q := c.freeing
	if q == nil || c.open > 0 {
		return
	}
	c.freeing = nil
	barrier := c.Further(c.Barrier)
	c.closing = true
	c.afterDone(barrier, func(err error) {
		c.closing = false // where it failed, it can be shrunk
		if c.freed = err == nil; c.freed {
			if c.rank == 0 {
				c.session.put(&record.Record{Kind: record.Free, Comm: c.id})
			}
			delete(c.session.comms, c.id)
		}
		q.finish(err)
	})
}
