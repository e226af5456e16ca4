package member

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// Comm is a communicator: a list of endpoints, this one among them. All members
// must begin the same operations in the same order.
type Comm struct {
	session    *Session
	id         uint64
	rank, size int

	next    uint64              // number of the next operation
	ops     map[uint64]*Request // under way
	queue   []*Request          // not begun
	syncing *Request            // the barrier that operations wait for
	scans   int64
	calls   [Shrinking + 1]int64 // of LibraryTag
	open    int                  // of the program's requests, those that are not done
	freeing *Request             // waits for these
	closing bool                 // the barrier of a Free is under way
	freed   bool
	gone    map[int]bool // those that a Left has told of
	gaveUp  error        // why nothing more can be begun
	lets    bool         // but now, for a call that was begun before
}

// Rank returns this endpoint's number in c.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of members.
func (c *Comm) Size() int { return c.size }

// ErrMember begins the error of a call that names a member that there is not.
var ErrMember = errors.New("member")

// ErrFreed is the error of operations over a communicator that was freed.
var ErrFreed = errors.New("the communicator was freed")

// check reports an error if nothing can be begun that names a member.
func (c *Comm) check(member int) error {
	switch {
	case c.gaveUp != nil && !c.lets:
		return c.gaveUp
	case c.closing:
		return ErrFreed
	}
	return c.checkLibrary(member)
}

// Hold keeps a Free waiting for a call of several operations, until Release.
func (c *Comm) Hold() { c.open++ }

// Busy tells whether something is under way.
func (c *Comm) Busy() bool { return c.open > 0 }

// Release says that such a call is over.
func (c *Comm) Release() {
	c.open--
	c.freeIfIdle()
}

// GiveUp has nothing more begun, for a reason. Operations under way go on.
func (c *Comm) GiveUp(why error) {
	if c.gaveUp == nil {
		c.gaveUp = why
	}
}

// Further begins operations of a call that was begun before the program gave the
// communicator up.
func (c *Comm) Further(begin func() *Request) *Request {
	c.lets = true
	defer func() { c.lets = false }()
	return begin()
}

// checkLibrary is check for messages of the library itself.
func (c *Comm) checkLibrary(member int) error {
	if c.freed {
		return ErrFreed
	}
	if member < 0 || member >= c.size {
		return fmt.Errorf("%w %d of a communicator of %d", ErrMember, member, c.size)
	}
	return nil
}

// begin starts an operation, or queues it behind a barrier that is due: one in
// record.SyncEvery operations is one, whether the program asked for it or not.
func (c *Comm) begin(q *Request) *Request {
	q.comm = c
	if err := c.check(q.root); err != nil {
		q.finish(err)
		return q
	}
	q.countOpen()
	c.queue = append(c.queue, q)
	c.goOn()
	return q
}

func (c *Comm) goOn() {
	if c.syncing != nil && c.syncing.done {
		c.syncing = nil
	}
	for len(c.queue) > 0 && c.syncing == nil {
		q := c.queue[0]
		if due := c.next%record.SyncEvery == record.SyncEvery-1; due {
			if q.op != record.Barrier {
				q = &Request{comm: c, op: record.Barrier}
			} else {
				c.queue = c.queue[1:]
			}
			c.syncing = q
		} else {
			c.queue = c.queue[1:]
		}
		c.enter(q)
	}
}

// enter tells the agent of an operation, and sends the data that may be sent at once.
func (c *Comm) enter(q *Request) {
	if err := c.session.err; err != nil {
		q.finish(err)
		return
	}
	q.seq = c.next
	c.next++
	s := c.session
	enter := record.Record{Kind: record.Enter, Op: q.op, Fn: q.fn, Comm: c.id, Seq: q.seq, Dst: q.root, Size: q.size}
	if q.op == record.Split {
		enter.Body = q.send
	}
	s.put(&enter)
	others, root := int64(c.size-1)*q.size, c.rank == q.root
	d := record.Record{Kind: record.Data, Op: q.op, Comm: c.id, Seq: q.seq, Src: c.rank, Dst: q.root, Count: c.size, Size: q.size, Body: q.send}
	mine := int64(c.rank) * q.size
	switch q.op {
	case record.Barrier, record.Split:
		q.left = 1
	case record.Bcast:
		d.Dst = 0
		if root {
			q.toSend = q.size
		} else {
			q.left = q.size
		}
	case record.Gather:
		d.Count = 1
		if root {
			copy(q.recv[mine:], q.send)
			q.left = others
		} else {
			q.toSend = q.size
		}
	case record.AllGather:
		copy(q.recv[mine:], q.send)
		d.Dst, d.Off = 0, mine
		q.left, q.toSend = others, q.size
	case record.Scatter:
		d.Dst, d.Each = 0, true
		if root {
			copy(q.recv, q.send[mine:mine+q.size])
			q.toSend = others
		} else {
			q.left = q.size
		}
	case record.AllToAll:
		copy(q.recv[mine:mine+q.size], q.send[mine:])
		d.Dst, d.Each = 0, true
		q.left, q.toSend = others, others
	case record.Reduce, record.AllReduce:
		d = record.Record{Kind: record.Up, Op: q.op, Fn: q.fn, Comm: c.id, Seq: q.seq, Src: c.rank, Dst: q.root, Size: q.size, Body: q.send}
		q.toSend = q.size
		if root || q.op == record.AllReduce {
			q.left = q.size
		}
	}
	if q.op != record.Barrier && c.size == 1 && q.op < record.Reduce {
		q.left, q.toSend = 0, 0
	}
	if q.toSend > 0 && record.Eager(q.op, c.size, q.size) {
		s.put(&d)
		q.toSend = 0
	}
	c.ops[q.seq] = q
	c.finishIf(q)
}

func (c *Comm) finishIf(q *Request) {
	if q.left == 0 && q.toSend == 0 {
		delete(c.ops, q.seq)
		q.finish(nil)
		if c.syncing == q {
			c.goOn()
		}
	}
}

// takeOp takes data of an operation, or a wish for some.
func (s *Session) takeOp(r *record.Record) error {
	c := s.comms[r.Comm]
	if c == nil {
		return errUnexpected
	}
	q := c.ops[r.Seq]
	if q == nil || q.op != r.Op {
		return errUnexpected
	}
	if r.Kind == record.Pull {
		return s.answer(c, q, r)
	}
	at, size := r.Off, int64(len(r.Body))
	switch q.op {
	case record.Barrier:
		q.left = 0
		c.finishIf(q)
		return nil
	case record.Split:
		id, used := binary.Uvarint(r.Body)
		if used <= 0 {
			return errUnexpected
		}
		if id != 0 {
			q.made = s.comm(id, r.Dst, int(r.Size))
		}
		q.left = 0
		c.finishIf(q)
		return nil
	case record.Gather, record.AllToAll:
		at += int64(r.Src) * q.size
	}
	if size > q.left || at < 0 || at > int64(len(q.recv))-size {
		return fmt.Errorf("%d bytes at %d of %v of %d bytes", size, at, q.op, q.size)
	}
	copy(q.recv[at:], r.Body)
	q.left -= size
	c.finishIf(q)
	return nil
}

// answer sends the requested data.
func (s *Session) answer(c *Comm, q *Request, r *record.Record) error {
	d := record.Record{Kind: record.Data, Op: q.op, Comm: c.id, Seq: q.seq, Src: c.rank, Dst: r.Src, Count: 1, Off: r.Off, Size: q.size}
	at, size := r.Off, r.Size
	switch q.op {
	case record.Bcast:
		d.Dst, d.Count = 0, c.size
	case record.AllGather:
		mine := int64(c.rank) * q.size
		begin, end := max(r.Off, mine), min(r.Off+r.Size, mine+q.size)
		d.Dst, d.Count, d.Off = 0, c.size, begin
		at, size = begin-mine, end-begin
	case record.Scatter, record.AllToAll:
		at += int64(r.Src) * q.size
	case record.Reduce, record.AllReduce:
		d = record.Record{Kind: record.Up, Op: q.op, Fn: q.fn, Comm: c.id, Seq: q.seq, Src: c.rank, Dst: q.root, Off: r.Off / record.Chunk, Size: q.size}
	}
	if size <= 0 || size > min(record.Chunk, q.toSend) || at < 0 || at > int64(len(q.send))-size {
		return fmt.Errorf("a wish for %d bytes at %d of %v of %d bytes", size, at, q.op, q.size)
	}
	d.Body = q.send[at : at+size]
	s.put(&d)
	q.toSend -= size
	c.finishIf(q)
	return nil
}
