package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

var errEnough = errors.New("enough")

// over is a context that is done.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	return ctx
}

// TestAWaitThatEnds gives a broadcast up at one rank: it says so, as do later calls over
// the communicator, and it has its buffer again. The others get theirs, and the rank's
// other communicators serve.
func TestAWaitThatEnds(t *testing.T) {
	for _, size := range []int{8, 200_000} {
		ctx, all := within(t), newCore(t).job()
		halves := make([]*client.Comm, ranks)
		each(t, all, func(c *client.Client) (err error) {
			halves[c.Rank()], err = c.World().Split(ctx, 0, 0)
			return err
		})
		buf := make([]byte, size)
		waits := client.StartBcast(all[0].World(), 1, buf)
		err := waits.Wait(over(t))
		require.ErrorIs(t, err, client.ErrBroken)
		require.ErrorIs(t, err, errEnough)
		require.EqualError(t, err, "this rank gave the communicator up: the wait for bcast ended: enough")
		copy(buf, "mine again")
		each(t, all[1:], func(c *client.Client) error {
			return client.Bcast(ctx, c.World(), 1, text(1, 0, size))
		})
		require.EqualError(t, waits.Wait(ctx), err.Error(), "it does not change")
		require.Equal(t, "mine again"[:min(size, 10)], string(buf[:min(size, 10)]))
		for _, again := range []error{all[0].World().Barrier(ctx), client.Send(ctx, all[0].World(), 1, 0, buf), all[0].World().Free(ctx)} {
			require.EqualError(t, again, err.Error(), "later calls say why")
		}
		each(t, all, func(c *client.Client) error { return operations(ctx, halves[c.Rank()], 8) })
		// All go on over what is left of the world: all of it.
		each(t, all, func(c *client.Client) error {
			world, err := c.World().Shrink(ctx)
			if err != nil {
				return err
			}
			if world.Rank() != c.Rank() || world.Size() != ranks {
				return fmt.Errorf("member %d of %d", world.Rank(), world.Size())
			}
			return operations(ctx, world, 8)
		})
	}
}

// TestScansThatAreGivenUp have no buffers of the program any more.
func TestScansThatAreGivenUp(t *testing.T) {
	scan := func(c *client.Comm, v []int) *client.Request { return client.StartScan(c, client.Sum, v, v) }
	share := func(c *client.Comm, v []int) *client.Request {
		return client.StartReduceScatter(c, client.Sum, v, v[:len(v)/ranks])
	}
	for _, elements := range []int{ranks, 32_000} {
		for _, start := range []func(*client.Comm, []int) *client.Request{scan, share} {
			ctx, all := within(t), newCore(t).job()
			v := make([]int, elements)
			require.ErrorIs(t, start(all[0].World(), v).Wait(over(t)), client.ErrBroken)
			clear(v)
			require.ErrorIs(t, all[0].World().Barrier(ctx), client.ErrBroken)
			each(t, all[1:], func(c *client.Client) error { // the others go on
				return start(c.World(), make([]int, elements)).Wait(ctx)
			})
		}
	}
}

// TestNothingIsBegun under a context that is over, and nothing breaks.
func TestNothingIsBegun(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	for _, err := range []error{
		all[0].World().Barrier(over(t)), client.Send(over(t), all[0].World(), 1, 0, []byte{1}), all[0].Put(over(t), "key", nil), all[0].Fence(over(t)),
	} {
		require.ErrorIs(t, err, errEnough)
		require.ErrorContains(t, err, "was not begun")
	}
	each(t, all, func(c *client.Client) error { return operations(ctx, c.World(), 8) })
	each(t, all, func(c *client.Client) error { return c.Fence(ctx) })
}

func TestWaitAny(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	w := all[0].World()
	bufs := make([][]byte, 3)
	requests := make([]*client.Request, 3)
	for i := range requests {
		bufs[i] = make([]byte, 1)
		requests[i] = client.StartRecv(w, 1, i, bufs[i])
	}
	done, err := requests[2].Test()
	require.False(t, done)
	require.NoError(t, err)
	for _, tag := range []int{2, 0} {
		require.NoError(t, client.Send(ctx, all[1].World(), 0, tag, []byte{byte(tag + 1)}))
		i, err := client.WaitAny(ctx, requests...)
		require.NoError(t, err)
		require.Equal(t, tag, i)
		require.Equal(t, []byte{byte(tag + 1)}, bufs[i])
		done, err = requests[i].Test()
		require.True(t, done)
		require.NoError(t, err)
		requests[i] = nil
	}
	_, err = client.WaitAny(ctx, slices.Repeat([]*client.Request{requests[1]}, 1<<16)...)
	require.EqualError(t, err, "65536 requests to wait for; WaitAny takes at most 65535")
	i, err := client.WaitAny(over(t), requests...)
	require.Equal(t, -1, i)
	require.ErrorIs(t, err, client.ErrBroken)
}
