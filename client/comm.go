package client

import (
	"context"
	"errors"

	"github.com/golaunch/golaunch/tree/member"
)

// Comm is a communicator: ranks, numbered from 0.
type Comm struct {
	client *Client
	comm   *member.Comm
	within bool // a call of several operations, which goes on where it was given up
}

// Rank returns this rank's number in c.
func (c *Comm) Rank() int { return c.comm.Rank() }

// Size returns the number of members of c.
func (c *Comm) Size() int { return c.comm.Size() }

// start begins something over c.
func (c *Comm) start(what string, begin func() *member.Request) *Request {
	if c == nil {
		return refused(noComm(what))
	}
	if c.within {
		first := begin
		begin = func() *member.Request { return c.comm.Further(first) }
	}
	r := c.client.start(what, begin)
	r.breaks = true
	return r
}

// noComm is the outcome of a call over nil.
func noComm(what string) error { return errors.New(what + ": nil is no communicator") }

// wait begins a request, unless ctx is over, and waits for it.
func wait(ctx context.Context, what string, start func() *Request) error {
	if err := notBegun(ctx, what); err != nil {
		return err
	}
	return start().Wait(ctx)
}

// StartBarrier begins a Barrier.
func (c *Comm) StartBarrier() *Request {
	return c.start("barrier", func() *member.Request { return c.comm.Barrier() })
}

// Barrier returns when every member has called it.
func (c *Comm) Barrier(ctx context.Context) error { return wait(ctx, "barrier", c.StartBarrier) }

// StartSplit begins a Split; Request.Comm has its outcome.
func (c *Comm) StartSplit(color, key int) *Request {
	return c.start("split", func() *member.Request { return c.comm.Split(max(color, member.Undefined), key) })
}

// Split makes a communicator for each color that members name, of the members
// that name it, in the order of their keys, and of their ranks in c where keys
// are equal. A member with a negative color gets none, nil. Colors and keys
// have 32 bits. The agents sort; no process holds a list of the members.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	if err := notBegun(ctx, "split"); err != nil {
		return nil, err
	}
	return c.StartSplit(color, key).Comm(ctx)
}

// Location is the place of a member of a communicator.
type Location struct {
	Rank int // in the world
	Node int
}

// Locate finds a member, wherever it is, or was before it left: its agent knows the
// members of its own node and recent answers, and asks the member's agent for others.
func (c *Comm) Locate(ctx context.Context, rank int) (Location, error) {
	if c == nil {
		return Location{}, noComm("locate")
	}
	r, err := c.client.call(ctx, "locate", func() *member.Request { return c.comm.Locate(rank) })
	if err != nil {
		return Location{}, err
	}
	world, node := r.Location()
	return Location{Rank: world, Node: node}, nil
}

// Free gives a communicator up that Sub, Split or Shrink made. All members call it, and
// begin nothing more over it. It returns when all have and all that they
// have begun over it is complete; a Recv for which no message comes keeps it from that.
func (c *Comm) Free(ctx context.Context) error {
	return wait(ctx, "free", func() *Request { return c.start("free", func() *member.Request { return c.comm.Free() }) })
}
