package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// combining begins an operation that combines elements.
func combining[T Combinable](c *Comm, what string, op Op, begin func(fn uint8) *member.Request) *Request {
	fn, err := function[T](op)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", what, err))
	}
	return c.start(what, func() *member.Request { return begin(fn) })
}

// StartReduce begins a Reduce.
func StartReduce[T Combinable](c *Comm, root int, op Op, send, recv []T) *Request {
	return combining[T](c, "reduce", op, func(fn uint8) *member.Request { return c.comm.Reduce(root, fn, bytesOf(send), bytesOf(recv)) })
}

// Reduce combines everyone's send, element by element, into root's recv, which may be
// its send. The others' recv may be nil. The agents combine on the way: as many bytes
// cross a link as one send has. The order in which they add and multiply floats depends
// on the job's tree and on the places of ranks, and not on the time at which they call:
// with these the same, the result has the same bits.
func Reduce[T Combinable](ctx context.Context, c *Comm, root int, op Op, send, recv []T) error {
	return wait(ctx, "reduce", func() *Request { return StartReduce(c, root, op, send, recv) })
}

// StartAllReduce begins an AllReduce.
func StartAllReduce[T Combinable](c *Comm, op Op, send, recv []T) *Request {
	return combining[T](c, "allreduce", op, func(fn uint8) *member.Request { return c.comm.AllReduce(fn, bytesOf(send), bytesOf(recv)) })
}

// AllReduce is Reduce with the result everywhere, the same bits at all members.
func AllReduce[T Combinable](ctx context.Context, c *Comm, op Op, send, recv []T) error {
	return wait(ctx, "allreduce", func() *Request { return StartAllReduce(c, op, send, recv) })
}

// StartReduceScatter begins a ReduceScatter.
func StartReduceScatter[T Combinable](c *Comm, op Op, send, recv []T) *Request {
	return combining[T](c, "reduce-scatter", op, func(fn uint8) *member.Request { return c.comm.ReduceScatter(fn, bytesOf(send), bytesOf(recv)) })
}

// ReduceScatter combines everyone's send as AllReduce does, and leaves each member its
// part, in the order of members: send is Size times as long as recv. It costs as much
// as an AllReduce of send, in time and memory.
func ReduceScatter[T Combinable](ctx context.Context, c *Comm, op Op, send, recv []T) error {
	return wait(ctx, "reduce-scatter", func() *Request { return StartReduceScatter(c, op, send, recv) })
}

// StartScan begins a Scan.
func StartScan[T Combinable](c *Comm, op Op, send, recv []T) *Request {
	return combining[T](c, "scan", op, func(fn uint8) *member.Request { return c.comm.Scan(fn, bytesOf(send), bytesOf(recv)) })
}

// Scan combines the send of members 0 to this one into recv, which may be send.
func Scan[T Combinable](ctx context.Context, c *Comm, op Op, send, recv []T) error {
	return wait(ctx, "scan", func() *Request { return StartScan(c, op, send, recv) })
}

// StartExscan begins an Exscan.
func StartExscan[T Combinable](c *Comm, op Op, send, recv []T) *Request {
	return combining[T](c, "exscan", op, func(fn uint8) *member.Request { return c.comm.Exscan(fn, bytesOf(send), bytesOf(recv)) })
}

// Exscan is Scan without this member's own send. Member 0's recv stays as it is.
func Exscan[T Combinable](ctx context.Context, c *Comm, op Op, send, recv []T) error {
	return wait(ctx, "exscan", func() *Request { return StartExscan(c, op, send, recv) })
}

// ReduceFunc is Reduce by a function of the program: f(... f(f(s0, s1), s2) ..., sn) of
// everyone's element, in the order of members. f need be neither commutative nor
// associative. Agents cannot run it, so that everyone's send goes to root, which calls
// f for all of them: Size times the cost of Reduce there.
func ReduceFunc[T Element](ctx context.Context, c *Comm, root int, f func(a, b T) T, send, recv []T) error {
	if c == nil {
		return noComm("reduce")
	}
	here := c.Rank() == root
	return byFunction(ctx, c, f, here, send, recv, func(ctx context.Context, c *Comm, send, all []T) error {
		if !here {
			all = nil
		}
		return Gather(ctx, c, root, send, all)
	})
}

// AllReduceFunc is ReduceFunc with the result everywhere: every member gets everyone's
// send and calls f for all of them, in pieces of 64 KiB.
func AllReduceFunc[T Element](ctx context.Context, c *Comm, f func(a, b T) T, send, recv []T) error {
	if c == nil {
		return noComm("reduce")
	}
	return byFunction(ctx, c, f, true, send, recv, AllGather[T])
}

// byFunction gathers everyone's send, in pieces, and combines it into recv where here
// says so. Where the call is given up, it gathers the rest and combines nothing.
func byFunction[T Element](ctx context.Context, c *Comm, f func(a, b T) T, here bool, send, recv []T, gather func(ctx context.Context, c *Comm, send, all []T) error) error {
	if f == nil {
		return errors.New("reduce: nil is no function")
	}
	if here {
		if err := sameLength(send, recv); err != nil {
			return err
		}
	}
	send = keep(ctx, send)
	var mu sync.Mutex // the caller has recv again once it was given up
	given := false
	_, err := several(ctx, c, "reduce", func(ctx context.Context, c *Comm) (none struct{}, err error) {
		var all []T
		err = inPieces(c, len(send), sizeOf[T](), func(i, j int) error {
			if all == nil {
				all = make([]T, c.Size()*(j-i))
			}
			part := all[:c.Size()*(j-i)]
			err := gather(ctx, c, send[i:j], part)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && here && !given {
				fold(f, part, recv[i:j])
			}
			return err
		})
		return none, err
	})
	mu.Lock()
	defer mu.Unlock()
	given = true
	return err
}

func sameLength[T any](send, recv []T) error {
	if len(send) != len(recv) {
		return fmt.Errorf("%d elements are combined into %d", len(send), len(recv))
	}
	return nil
}

// inPieces calls do for pieces, from i to j-1, of n elements of each member: at least
// once, so that members that disagree about n learn it. size is an element's, in bytes.
func inPieces(c *Comm, n, size int, do func(i, j int) error) error {
	most := max(1, record.Chunk/(c.Size()*size))
	for i := 0; i == 0 || i < n; i += most {
		if err := do(i, min(i+most, n)); err != nil {
			return err
		}
	}
	return nil
}

// fold combines the members' parts, of which all has one each.
func fold[T any](f func(a, b T) T, all, out []T) {
	n := len(out)
	copy(out, all)
	for at := n; at < len(all); at += n {
		for i, x := range all[at : at+n] {
			out[i] = f(out[i], x)
		}
	}
}
