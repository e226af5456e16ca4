package client

import (
	"context"

	"github.com/golaunch/golaunch/tree/member"
)

// Busy tells whether this rank has begun something over a communicator that is not over.
func Busy(c *Comm) bool {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.comm.Busy()
}

// GatherMessages returns the part of a Gatherv that comes after its lengths.
func GatherMessages[T Element](ctx context.Context, c *Comm, root int, send []T, lengths []int64) ([][]T, error) {
	return gatherMessages(ctx, c, root, c.libraryTag(member.Varying), send, lengths)
}

// Excused takes the place of an operation whose lengths failed.
func Excused[T Element](c *Comm, root int, send []T, why error) error {
	return excused(c, root, c.libraryTag(member.Varying), send, why)
}
