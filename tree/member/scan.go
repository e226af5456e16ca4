package member

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/record"
)

// scan is a Scan or Exscan under way.
type scan struct {
	q         *Request
	fn        uint8
	exclusive bool
	acc       []byte // of this member and those before it, as far as is known
	before    []byte // without this member; nil if nothing is known
	tag       int64  // of the next messages
	failed    error
}

// Scan combines the send of the members up to this one into recv: from each
// other by one AllGather where that is short, else in a logarithmic number of
// exchanges.
func (c *Comm) Scan(fn uint8, send, recv []byte) *Request {
	return c.scan("scan", fn, send, recv, false)
}

// Exscan is Scan without this member's own send. Member 0's recv stays as it is.
func (c *Comm) Exscan(fn uint8, send, recv []byte) *Request {
	return c.scan("exscan", fn, send, recv, true)
}

func (c *Comm) scan(what string, fn uint8, send, recv []byte, exclusive bool) *Request {
	size := len(send)
	if len(recv) != size {
		return refused("%s: %d bytes into %d", what, size, len(recv))
	}
	if err := c.session.checkFunction(fn, int64(size)); err != nil {
		return refused("%s: %w", what, err)
	}
	if err := c.check(0); err != nil {
		return refused("%w", err)
	}
	q := &Request{comm: c, recv: recv}
	if !record.Eager(record.AllGather, c.size, int64(size)) {
		c.scans++
		x := &scan{q: q, fn: fn, exclusive: exclusive, acc: bytes.Clone(send), tag: record.MaxTag + c.scans*64}
		c.agree(what, int64(size), func(err error) {
			if err != nil {
				c.scanExcused(x, err)
				return
			}
			c.scanFrom(x, 1)
		})
		return q
	}
	all := make([]byte, c.size*size)
	own := all[c.rank*size:][:size]
	copy(own, send)
	c.afterDone(c.AllGather(own, all), func(err error) {
		parts := c.rank
		if !exclusive {
			parts++
		}
		for i := 1; i < parts && err == nil; i++ {
			err = record.Fold(fn, all[:size], all[i*size:][:size])
		}
		if err == nil && parts > 0 {
			copy(q.recv, all[:size])
		}
		q.finish(err)
	})
	return q
}

// agree calls f once all members have told how many bytes they give, with an error
// where these differ. Short scans begin with another operation, so that agents see
// members that differ in that.
func (c *Comm) agree(what string, size int64, f func(error)) {
	most := make([]byte, 16) // the largest size, and what is the smallest negated
	binary.LittleEndian.PutUint64(most, uint64(size))
	binary.LittleEndian.PutUint64(most[8:], uint64(-size))
	c.afterDone(c.AllReduce(record.Int64|record.Max, most, most), func(err error) {
		high, low := int64(binary.LittleEndian.Uint64(most)), -int64(binary.LittleEndian.Uint64(most[8:]))
		if err == nil && high != low {
			err = &Failure{Cause: record.CauseMismatch, Member: -1, Text: fmt.Sprintf("%s: members give %d to %d bytes", what, low, high)}
		}
		f(err)
	})
}

// scanExcused ends a scan that does not begin here, though it may elsewhere. Nobody
// waits for members that do not begin theirs.
func (c *Comm) scanExcused(x *scan, why error) {
	if Partial(why) {
		c.refuse(x.tag, beyondScans)
	}
	for step := 1; c.rank+step < c.size && Partial(why); step *= 2 {
		c.Excuse(c.rank+step, x.tag, why, int64(len(x.acc)))
		x.tag++
	}
	x.q.finish(why)
}

// afterDone calls f once g is done, which may be now.
func (c *Comm) afterDone(g *Request, f func(error)) {
	if done, err := g.Done(); done {
		f(err)
		return
	}
	g.OnDone = func() { f(g.err) }
}

// scanFrom does the round in which acc holds the sum of the last step members. Where
// that failed, those that wait for it get the reason instead, which differs from it in
// length.
func (c *Comm) scanFrom(x *scan, step int) {
	if step >= c.size {
		x.end()
		return
	}
	open := 1
	var part []byte
	var get *Request
	data := x.acc
	if x.failed != nil {
		data = excuse(x.failed, int64(len(x.acc)))
	}
	end := func(err error) {
		if x.failed == nil {
			x.failed = err
		}
		if open--; open > 0 {
			return
		}
		switch {
		case x.failed != nil || get == nil:
		case get.got != int64(len(x.acc)):
			x.failed = Excused(part[:get.got])
		default:
			x.add(part)
		}
		x.tag++
		c.scanFrom(x, 2*step)
	}
	if c.rank >= step {
		part = make([]byte, len(x.acc))
		open++
		get = c.RecvLibrary(c.rank-step, x.tag, part)
		c.afterDone(get, end)
	}
	if c.rank+step < c.size {
		open++
		c.afterDone(c.SendLibrary(c.rank+step, x.tag, data), end)
	}
	end(nil)
}

// add combines the sum of members before the known ones.
func (x *scan) add(part []byte) {
	if x.exclusive {
		if x.before == nil {
			x.before = bytes.Clone(part)
		} else {
			x.failed = record.Fold(x.fn, x.before, part)
		}
	}
	x.failed = errors.Join(x.failed, record.Fold(x.fn, x.acc, part))
}

func (x *scan) end() {
	result := x.acc
	if x.exclusive {
		result = x.before
	}
	if x.failed == nil && result != nil {
		copy(x.q.recv, result)
	}
	x.q.finish(x.failed)
}
