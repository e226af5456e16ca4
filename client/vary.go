package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// Gatherv brings everyone's send, however long, to root, and returns it there, a slice
// for each member; elsewhere nil. All members first learn the lengths, 8 bytes each.
// Where these are much alike, the parts go as in a Gather, filled up to the longest;
// else as messages.
func Gatherv[T Element](ctx context.Context, c *Comm, root int, send []T) ([][]T, error) {
	if c == nil {
		return nil, noComm("gatherv")
	}
	if root < 0 || root >= c.Size() {
		return nil, fmt.Errorf("gatherv: root %d of a communicator of %d", root, c.Size())
	}
	send = keep(ctx, send)
	return several(ctx, c, "gatherv", func(ctx context.Context, c *Comm) ([][]T, error) { return gatherv(ctx, c, root, send) })
}

func gatherv[T Element](ctx context.Context, c *Comm, root int, send []T) ([][]T, error) {
	tag := c.libraryTag(member.Varying)
	lengths, err := lengthsOf(ctx, c, send)
	if err != nil {
		return nil, excused(c, root, tag, send, err)
	}
	most := int(slices.Max(lengths))
	if !alike(lengths, sizeOf[T]()) {
		return gatherMessages(ctx, c, root, tag, send, lengths)
	}
	var all []T
	if c.Rank() == root {
		all = make([]T, c.Size()*most)
	}
	if err := Gather(ctx, c, root, filled(send, most), all); err != nil {
		return nil, excused[T](c, root, tag, nil, err)
	}
	if c.Rank() != root {
		return nil, nil
	}
	return parts(all, lengths, most), nil
}

// AllGatherv is Gatherv with the result everywhere. Where lengths are not alike, member
// 0 gathers, and sends all of it to everyone.
func AllGatherv[T Element](ctx context.Context, c *Comm, send []T) ([][]T, error) {
	if c == nil {
		return nil, noComm("allgatherv")
	}
	send = keep(ctx, send)
	return several(ctx, c, "allgatherv", func(ctx context.Context, c *Comm) ([][]T, error) { return allGatherv(ctx, c, send) })
}

func allGatherv[T Element](ctx context.Context, c *Comm, send []T) ([][]T, error) {
	tag := c.libraryTag(member.Varying)
	lengths, err := lengthsOf(ctx, c, send)
	if err != nil {
		return nil, excused(c, 0, tag, send, err)
	}
	most := int(slices.Max(lengths))
	if alike(lengths, sizeOf[T]()) {
		all := make([]T, c.Size()*most)
		if err := AllGather(ctx, c, filled(send, most), all); err != nil {
			return nil, excused[T](c, 0, tag, nil, err)
		}
		return parts(all, lengths, most), nil
	}
	each, err := gatherMessages(ctx, c, 0, tag, send, lengths)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(each...)
	if c.Rank() != 0 {
		all = make([]T, total(lengths))
	}
	if err := Bcast(ctx, c, 0, all); err != nil {
		return nil, err
	}
	return parts(all, lengths, 0), nil
}

// excused returns the error for which a gatherv ends here before its messages. Others
// may have come to them: the root waits for this member's, or gets theirs.
func excused[T any](c *Comm, root int, tag int64, send []T, why error) error {
	var left *LeftError
	if !errors.As(why, &left) {
		return why
	}
	size := int64(len(send) * sizeOf[T]())
	switch {
	case c.Rank() == root:
		c.client.mu.Lock()
		c.comm.Refuse(member.Varying, tag)
		c.client.changed.Broadcast()
		c.client.mu.Unlock()
	case size > 0:
		f := &member.Failure{Cause: record.CauseLeft, Member: -1, Text: left.Text}
		if len(left.Ranks) > 0 {
			f.Member = left.Ranks[0]
		}
		c.start("gatherv", func() *member.Request { return c.comm.Excuse(root, tag, f, size) })
	}
	return why
}

// lengthsOf returns those of everyone's send.
func lengthsOf[T any](ctx context.Context, c *Comm, send []T) ([]int64, error) {
	lengths := make([]int64, c.Size())
	if err := AllGather(ctx, c, []int64{int64(len(send))}, lengths); err != nil {
		return nil, err
	}
	const most = 1 << 40
	for i, n := range lengths {
		if n < 0 || n > most/int64(sizeOf[T]()) {
			return nil, fmt.Errorf("member %d gives %d elements", i, n)
		}
	}
	return lengths, nil
}

func total(lengths []int64) (sum int64) {
	for _, n := range lengths {
		sum += n
	}
	return sum
}

// alike tells whether parts that are filled up to the longest are at most twice as much,
// or little.
func alike(lengths []int64, size int) bool {
	const little = 64 << 10 // bytes
	all := int64(len(lengths)) * slices.Max(lengths)
	return all <= 2*total(lengths) || all*int64(size) <= little
}

// filled is send with zeros behind it.
func filled[T any](send []T, n int) []T {
	out := make([]T, n)
	copy(out, send)
	return out
}

// parts cuts gathered elements: parts of the lengths, each at a multiple of stride or,
// where that is 0, one after the other.
func parts[T any](all []T, lengths []int64, stride int) [][]T {
	list, at := make([][]T, len(lengths)), 0
	for i, n := range lengths {
		end := at + int(n)
		list[i] = all[at:end:end]
		if at = end; stride > 0 {
			at = (i + 1) * stride
		}
	}
	return list
}

// gatherMessages gathers parts that are not empty as messages.
func gatherMessages[T Element](ctx context.Context, c *Comm, root int, tag int64, send []T, lengths []int64) ([][]T, error) {
	if c.Rank() != root {
		if len(send) == 0 {
			return nil, nil
		}
		return nil, c.start("gatherv", func() *member.Request { return c.comm.SendLibrary(root, tag, bytesOf(send)) }).Wait(ctx)
	}
	each := make([][]T, c.Size())
	requests := make([]*Request, c.Size())
	for i, n := range lengths {
		if i != root && n > 0 {
			each[i] = make([]T, n)
			requests[i] = c.start("gatherv", func() *member.Request { return c.comm.RecvLibrary(i, tag, bytesOf(each[i])) })
		}
	}
	each[root] = slices.Clone(send)
	for i, r := range requests {
		if r == nil {
			continue
		}
		if err := r.Wait(ctx); err != nil {
			return nil, err
		}
		if _, _, size := r.req.Message(); size != int64(len(each[i])*sizeOf[T]()) {
			return nil, outcome(member.Excused(bytesOf(each[i])[:size]))
		}
	}
	return each, nil
}
