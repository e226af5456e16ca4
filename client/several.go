package client

import (
	"context"
	"fmt"
	"runtime"

	"github.com/golaunch/golaunch/tree/member"
)

// several carries out a call that is built of several operations, for which a Free waits.
// Where ctx ends the wait for it, the communicator is broken for this rank, and do goes on
// without its caller, so that no other rank waits for this one's part: do must use no
// memory of the program's, but through keep.
func several[R any](ctx context.Context, c *Comm, what string, do func(context.Context, *Comm) (R, error)) (R, error) {
	var none R
	if err := notBegun(ctx, what); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		c.hold()
		defer c.release()
		return do(ctx, c)
	}
	var value R
	var err error
	task, begun := c.begin(func() {
		value, err = do(context.WithoutCancel(ctx), &Comm{client: c.client, comm: c.comm, within: true})
	})
	if !begun {
		return none, ErrClosed
	}
	select {
	case <-task.ended:
		task.end()
		return value, err
	case <-ctx.Done():
		return none, c.giveUp(what, context.Cause(ctx))
	}
}

// task is a call that goes on where its caller gives it up.
type task struct {
	ended    chan struct{}
	panicked any  // panic of the program's part of it
	exited   bool // by runtime.Goexit
}

// begin begins a task, unless the job was closed. It ends at the latest when that is.
func (c *Comm) begin(do func()) (t *task, begun bool) {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	if c.client.closing {
		return nil, false
	}
	c.comm.Hold()
	t = &task{ended: make(chan struct{}), exited: true}
	c.client.tasks.Go(func() {
		defer close(t.ended)
		defer c.release()
		defer func() { t.panicked = recover() }()
		do()
		t.exited = false
	})
	return t, true
}

// end has the caller panic, or exit, as the task did.
func (t *task) end() {
	switch {
	case t.panicked != nil:
		panic(t.panicked)
	case t.exited:
		runtime.Goexit()
	}
}

// hold keeps a Free waiting.
func (c *Comm) hold() {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.comm.Hold()
}

func (c *Comm) release() {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.comm.Release()
	c.client.changed.Broadcast()
}

// keep returns a copy for a call that goes on when its caller has the original again.
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

// libraryTag returns a tag for messages of one call of all members.
func (c *Comm) libraryTag(sort member.Call) int64 {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.comm.LibraryTag(sort)
}
