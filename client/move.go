package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/tree/member"
)

// StartBcast begins a Bcast.
func StartBcast[T Element](c *Comm, root int, buf []T) *Request {
	return c.start("bcast", func() *member.Request { return c.comm.Bcast(root, bytesOf(buf)) })
}

// Bcast brings root's buf to everyone's, which is as long.
func Bcast[T Element](ctx context.Context, c *Comm, root int, buf []T) error {
	return wait(ctx, "bcast", func() *Request { return StartBcast(c, root, buf) })
}

// StartGather begins a Gather.
func StartGather[T Element](c *Comm, root int, send, recv []T) *Request {
	return c.start("gather", func() *member.Request { return c.comm.Gather(root, bytesOf(send), bytesOf(recv)) })
}

// Gather brings everyone's send, all of one length, to root's recv, in the
// order of members. The others' recv may be nil. Root's send may be its part of recv.
func Gather[T Element](ctx context.Context, c *Comm, root int, send, recv []T) error {
	return wait(ctx, "gather", func() *Request { return StartGather(c, root, send, recv) })
}

// StartAllGather begins an AllGather.
func StartAllGather[T Element](c *Comm, send, recv []T) *Request {
	return c.start("allgather", func() *member.Request { return c.comm.AllGather(bytesOf(send), bytesOf(recv)) })
}

// AllGather is Gather with the result everywhere.
func AllGather[T Element](ctx context.Context, c *Comm, send, recv []T) error {
	return wait(ctx, "allgather", func() *Request { return StartAllGather(c, send, recv) })
}

// StartScatter begins a Scatter.
func StartScatter[T Element](c *Comm, root int, send, recv []T) *Request {
	return c.start("scatter", func() *member.Request { return c.comm.Scatter(root, bytesOf(send), bytesOf(recv)) })
}

// Scatter brings each member its part of root's send, in the order of members. The
// others' send may be nil. Root's recv may be its part of send.
func Scatter[T Element](ctx context.Context, c *Comm, root int, send, recv []T) error {
	return wait(ctx, "scatter", func() *Request { return StartScatter(c, root, send, recv) })
}

// StartAllToAll begins an AllToAll.
func StartAllToAll[T Element](c *Comm, send, recv []T) *Request {
	if overlap(send, recv) {
		return refused(errors.New("alltoall: send and recv share memory"))
	}
	if c != nil && len(send)%c.Size() != 0 {
		return refused(fmt.Errorf("alltoall: %d elements are no equal parts for %d members", len(send), c.Size()))
	}
	return c.start("alltoall", func() *member.Request { return c.comm.AllToAll(bytesOf(send), bytesOf(recv)) })
}

// AllToAll brings part i of everyone's send to member i, in the order of
// members. All buffers have one length, a multiple of Size, and share no memory.
func AllToAll[T Element](ctx context.Context, c *Comm, send, recv []T) error {
	return wait(ctx, "alltoall", func() *Request { return StartAllToAll(c, send, recv) })
}
