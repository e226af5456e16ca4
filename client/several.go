package client

import (
	"context"
	"fmt"

	"github.com/golaunch/golaunch/tree/member"
)

// several carries out a call that is built of several operations. Where ctx ends the wait
// for it, the communicator is broken for this rank, and do goes on without its caller, so
// that no other rank waits for this one's part: do must use no memory of the program's,
// but through keep.
func several[R any](ctx context.Context, c *Comm, what string, do func(context.Context, *Comm) (R, error)) (R, error) {
	var none R
	if err := notBegun(ctx, what); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		return do(ctx, c)
	}
	type result struct {
		value R
		err   error
	}
	ended := make(chan result, 1)
	c.client.tasks.Go(func() { // ends with the operations, which Close ends at the latest
		value, err := do(context.WithoutCancel(ctx), &Comm{client: c.client, comm: c.comm, within: true})
		ended <- result{value, err}
	})
	select {
	case r := <-ended:
		return r.value, r.err
	case <-ctx.Done():
		return none, c.giveUp(what, context.Cause(ctx))
	}
}

// keep is a copy of what a call may go on with when its caller has the original again.
func keep[T any](ctx context.Context, send []T) []T {
	if ctx.Done() == nil {
		return send
	}
	return append([]T(nil), send...)
}

// giveUp breaks the communicator for this rank.
func (c *Comm) giveUp(what string, cause error) error {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	err := fmt.Errorf("%w: the wait for %s ended: %w", ErrBroken, what, cause)
	c.comm.GiveUp(err)
	return err
}

// libraryTag is a tag for messages of one call of all members.
func (c *Comm) libraryTag(sort member.Call) int64 {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.comm.LibraryTag(sort)
}
