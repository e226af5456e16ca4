package member

import (
	"errors"
	"fmt"
	"math"

	"github.com/golaunch/golaunch/tree/record"
)

// refused is a request that was wrong from the beginning.
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
// one of package record's types and one of its functions; in which order it is
// applied is not defined. Others' recv is not used.
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
	if err := record.CheckFunction(q.fn, q.size); err != nil {
		return refused("%v: %w", q.op, err)
	}
	return c.begin(q)
}

// Scan combines the send of the members up to this one into recv: from each
// other by one AllGather where that is short, else in a logarithmic number of
// exchanges.
func (c *Comm) Scan(fn uint8, send, recv []byte) *Request {
	if len(recv) != len(send) {
		return refused("scan: %d bytes into %d", len(send), len(recv))
	}
	if err := record.CheckFunction(fn, int64(len(send))); err != nil {
		return refused("scan: %w", err)
	}
	q := &Request{}
	copy(recv, send)
	if record.Eager(record.AllGather, c.size, int64(len(send))) {
		all := make([]byte, c.size*len(send))
		g := c.AllGather(send, all)
		c.then(g, func(err error) {
			for i := 0; i < c.rank && err == nil; i++ {
				err = record.Fold(fn, recv, all[i*len(send):][:len(send)])
			}
			q.finish(err)
		})
		return q
	}
	c.scans++
	c.scanFrom(q, fn, recv, 1, record.MaxTag+c.scans*64, nil)
	return q
}

// then calls f once g is done, which may be now.
func (c *Comm) then(g *Request, f func(error)) {
	if done, err := g.Done(); done {
		f(err)
		return
	}
	g.OnDone = func() { f(g.err) }
}

// scanFrom does the round in which acc holds what the last step members have
// together. Where that failed, those that wait for it get the reason instead,
// which differs from it in length.
func (c *Comm) scanFrom(q *Request, fn uint8, acc []byte, step int, tag int64, failed error) {
	if step >= c.size {
		q.finish(failed)
		return
	}
	open := 1
	var part []byte
	var get *Request
	data := acc
	if failed != nil {
		data = []byte(failed.Error())
		data = data[:min(len(data), len(acc)-1)]
	}
	end := func(err error) {
		if failed == nil {
			failed = err
		}
		if open--; open > 0 {
			return
		}
		switch {
		case failed != nil || get == nil:
		case get.got != int64(len(acc)):
			failed = errors.New(string(part[:get.got]))
		default:
			failed = record.Fold(fn, acc, part)
		}
		c.scanFrom(q, fn, acc, 2*step, tag+1, failed)
	}
	if c.rank >= step {
		part = make([]byte, len(acc))
		open++
		get = c.recv(c.rank-step, tag, part)
		c.then(get, end)
	}
	if c.rank+step < c.size {
		open++
		c.then(c.send(c.rank+step, tag, data), end)
	}
	end(nil)
}

// Sub makes a communicator of endpoints, each once, in the order given. All of
// them must call it, and no others. The first must make its communicators in
// the order in which the others ask for them.
func (s *Session) Sub(endpoints []int) *Request {
	for _, e := range endpoints {
		if e < 0 || e >= s.size+s.nodes {
			return refused("a communicator with rank %d of %d and %d agents", e, s.size, s.nodes)
		}
	}
	body := record.AppendRuns(nil, endpoints)
	if len(endpoints) == 0 || len(body) > record.MaxBody {
		return refused("a communicator of %d ranks", len(endpoints))
	}
	q := &Request{send: body}
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
	if err := c.check(member); err != nil {
		return refused("%v", err)
	}
	q := &Request{comm: c, root: member}
	q.opens()
	s := c.session
	s.number++
	q.seq = s.number
	s.asks.add(q)
	return q
}

// Location is what a Locate found: the member's number in the world (an agent's
// follow the ranks'), and its node.
func (r *Request) Location() (rank, node int) { return int(r.got), r.src }

// Free gives a communicator that Sub or Split made up. All members must call it,
// and begin nothing more over it. It is done when all have, and all that they
// have begun over it is complete.
func (c *Comm) Free() *Request {
	if c.id <= lastFixed {
		return refused("the world cannot be freed")
	}
	if c.freed || c.freeing != nil {
		return refused("%v", errFreed)
	}
	c.freeing = &Request{}
	q := c.freeing
	c.freeIf()
	return q
}

// freeIf frees c if it is to be, and nothing is under way over it.
func (c *Comm) freeIf() {
	q := c.freeing
	if q == nil || c.open > 0 {
		return
	}
	c.freeing = nil
	barrier := c.Barrier()
	c.freed = true
	c.then(barrier, func(err error) {
		if err == nil && c.rank == 0 {
			c.session.put(&record.Record{Kind: record.Free, Comm: c.id})
		}
		delete(c.session.comms, c.id)
		q.finish(err)
	})
}
