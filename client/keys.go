package client

import (
	"context"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Limits of the bulletin board, in bytes. Keys have at least one.
const (
	MaxKey   = record.MaxKey
	MaxValue = record.MaxValue
)

// Put puts a key with its value on the world's bulletin board, which PMI's
// clients share. Other ranks find it there after the next fence. Of several values of a
// key the last one counts.
func (c *Client) Put(ctx context.Context, key string, value []byte) error {
	_, err := c.call(ctx, "put", func() *member.Request { return c.session.Put(key, value) })
	return err
}

// Get looks a key up: as of the last fence, and later puts of ranks of this node.
func (c *Client) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	r, err := c.call(ctx, "get", func() *member.Request { return c.session.Get(key) })
	if err != nil {
		return nil, false, err
	}
	value, found = r.Value()
	return value, found, nil
}

// Fence returns when every rank of the world has entered it. A barrier of PMI is
// a fence, too: each rank enters each fence once, one way or the other. Two calls of
// several goroutines are two fences, one after the other. A fence whose wait ctx ended
// was entered all the same.
func (c *Client) Fence(ctx context.Context) error {
	_, err := c.call(ctx, "fence", c.session.Fence)
	return err
}
