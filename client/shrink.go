package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Shrink makes a communicator of the members of c that live, in their order: after a
// LeftError, or after a wait that was given up (ErrBroken). All of them call it; those
// that have left need not be known. It works also where no member has left. A member
// that lives and does not call it keeps the others waiting. Operations under way over c
// stay so. A communicator whose members disagreed (MismatchError) cannot be shrunk, nor
// one with ranks on a node that was lost.
//
// The lowest member that lives hears from all others, and tells them the members that
// are there; then a barrier over the new communicator shows that all have it. If some
// member leaves meanwhile, they begin again: if one returns without an error, all do
// that live. One rank sends and receives one message for each other.
//
// A Shrink that ctx ends goes on, so that the others get their communicator. This rank
// gets the same one by its next Shrink of c, which counts as the one that was given up.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	if c == nil {
		return nil, noComm("shrink")
	}
	if err := notBegun(ctx, "shrink"); err != nil {
		return nil, err
	}
	s, begun := c.beginShrink(ctx)
	if !begun {
		return nil, ErrClosed
	}
	select {
	case <-s.ended:
		return s.made, s.err
	case <-ctx.Done():
		err := c.giveUp("shrink", context.Cause(ctx))
		c.client.mu.Lock()
		defer c.client.mu.Unlock()
		if c.client.shrinks == nil {
			c.client.shrinks = map[*member.Comm][]*shrinking{}
		}
		given := append(c.client.shrinks[c.comm], s)
		slices.SortFunc(given, func(a, b *shrinking) int { return cmp.Compare(a.round, b.round) })
		c.client.shrinks[c.comm] = given
		return nil, err
	}
}

// shrinking is a Shrink under way; made and err are its outcome once it has ended.
type shrinking struct {
	*task
	round int64 // the tag of its first attempt
	made  *Comm
	err   error
}

// beginShrink begins a Shrink, or takes up one that was given up.
func (c *Comm) beginShrink(ctx context.Context) (s *shrinking, begun bool) {
	c.client.mu.Lock()
	given := c.client.shrinks[c.comm]
	if len(given) > 0 {
		c.client.shrinks[c.comm] = given[1:]
	}
	if len(given) == 1 {
		delete(c.client.shrinks, c.comm)
	}
	c.client.mu.Unlock()
	if len(given) > 0 {
		return given[0], true
	}
	s = &shrinking{round: c.libraryTag(member.Shrinking)}
	s.task, begun = c.begin(func() { s.made, s.err = c.shrinkAll(context.WithoutCancel(ctx), s.round) })
	return s, begun
}

// shrinkAll carries a Shrink out.
func (c *Comm) shrinkAll(ctx context.Context, round int64) (*Comm, error) {
	for lead, attempt := 0, int64(0); lead < c.Size(); attempt++ {
		made, leads, err := c.shrink(ctx, lead, round+attempt<<20)
		var left *LeftError
		switch {
		case err == nil:
			return made, nil
		case !errors.As(err, &left):
			return nil, fmt.Errorf("shrink: %w", err)
		case !leads:
			lead, attempt = lead+1, -1
		}
	}
	return nil, errors.New("shrink: every member has left") // this rank lives: it leads at last
}

// shrink makes one attempt, led by a member. leads is false if that has left before it
// told everyone the members.
func (c *Comm) shrink(ctx context.Context, lead int, tag int64) (made *Comm, leads bool, err error) {
	var list []int
	if c.Rank() == lead {
		list, err = c.leadShrink(ctx, tag)
	} else {
		list, err = c.followShrink(ctx, lead, tag)
	}
	if err != nil {
		return nil, false, err
	}
	r := c.start("shrink", func() *member.Request { return c.comm.SubFor(tag, list) })
	if err = r.Wait(ctx); err != nil {
		return nil, true, err
	}
	made = &Comm{client: c.client, comm: r.req.Made()}
	return made, true, made.Barrier(ctx)
}

// leadShrink hears who is there, and tells everyone: ranks of the world.
func (c *Comm) leadShrink(ctx context.Context, tag int64) ([]int, error) {
	calls := make([]*Request, c.Size())
	for i := range calls {
		if i != c.Rank() {
			calls[i] = c.start("shrink", func() *member.Request { return c.comm.RecvAllLibrary(i, tag) })
		}
	}
	var list, living []int
	for i, r := range calls {
		if r == nil {
			list = append(list, c.client.Rank())
			continue
		}
		if err := r.Wait(ctx); hasLeft(err, i) {
			continue
		} else if err != nil {
			return nil, finalError(err)
		}
		rank, used := binary.Uvarint(r.req.Received())
		if used <= 0 || rank >= uint64(c.client.Size()) {
			return nil, fmt.Errorf("member %d says that it is rank %d", i, rank)
		}
		list, living = append(list, int(rank)), append(living, i)
	}
	body := record.AppendRuns(nil, list)
	said := make([]*Request, len(living))
	for n, i := range living {
		said[n] = c.start("shrink", func() *member.Request { return c.comm.SendLibrary(i, tag, body) })
	}
	for n, r := range said {
		if err := r.Wait(ctx); err != nil && !hasLeft(err, living[n]) {
			return nil, finalError(err)
		}
	}
	return list, nil
}

// hasLeft tells whether an error says that a member has left.
func hasLeft(err error, member int) bool {
	var left *LeftError
	return errors.As(err, &left) && slices.Contains(left.Ranks, member)
}

// finalError is an error that another attempt does not mend.
func finalError(err error) error {
	if left := (*LeftError)(nil); errors.As(err, &left) {
		return errors.New(left.Text)
	}
	return err
}

// followShrink says that this rank is there, and hears who is.
func (c *Comm) followShrink(ctx context.Context, lead int, tag int64) ([]int, error) {
	me := binary.AppendUvarint(nil, uint64(c.client.Rank()))
	call := c.start("shrink", func() *member.Request { return c.comm.SendLibrary(lead, tag, me) })
	answer := c.start("shrink", func() *member.Request { return c.comm.RecvAllLibrary(lead, tag) })
	for _, r := range []*Request{answer, call} {
		if err := r.Wait(ctx); hasLeft(err, lead) {
			return nil, err
		} else if err != nil {
			return nil, finalError(err)
		}
	}
	return record.ParseRuns(answer.req.Received(), c.client.Size())
}
