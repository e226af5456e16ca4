package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

var errEnough = errors.New("enough")

// over returns a context that is done.
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

// soon returns a context that ends when a rank waits under it, over c, for others that have
// not called.
func soon(t *testing.T, c *client.Comm) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the call has begun, or the test is over
		for !client.Busy(c) && ctx.Err() == nil {
			runtime.Gosched()
		}
		time.AfterFunc(20*time.Millisecond, func() { cancel(errEnough) })
	}()
	return ctx
}

// TestCallsOfSeveralOperationsThatAreGivenUp go on, so that the others end theirs, with
// this rank's part as it was when it called.
func TestCallsOfSeveralOperationsThatAreGivenUp(t *testing.T) {
	concat := func(a, b int) int { return a*10 + b }
	alike := func(*client.Client) int { return 3 }
	unlike := func(c *client.Client) int { return c.Rank() * 20_000 }
	for name, x := range map[string]struct {
		length func(*client.Client) int
		call   func(ctx context.Context, c *client.Client, send []int) (any, error)
		want   func(rank int) any // of one element of each member
	}{
		"gatherv": {alike, func(ctx context.Context, c *client.Client, send []int) (any, error) {
			all, err := client.Gatherv(ctx, c.World(), 1, send)
			return firsts(all), err
		}, func(rank int) any { return map[bool][]int{true: {1, 2, 3, 4}}[rank == 1] }},
		"gatherv of unlike parts": {unlike, func(ctx context.Context, c *client.Client, send []int) (any, error) {
			all, err := client.Gatherv(ctx, c.World(), 1, send)
			return firsts(all), err
		}, func(rank int) any { return map[bool][]int{true: {0, 2, 3, 4}}[rank == 1] }},
		"allgatherv": {unlike, func(ctx context.Context, c *client.Client, send []int) (any, error) {
			all, err := client.AllGatherv(ctx, c.World(), send)
			return firsts(all), err
		}, func(int) any { return []int{0, 2, 3, 4} }},
		"reduce": {func(*client.Client) int { return 30_000 }, func(ctx context.Context, c *client.Client, send []int) (any, error) {
			recv := make([]int, len(send))
			err := client.ReduceFunc(ctx, c.World(), 2, concat, send, recv)
			return recv[len(recv)-1], err
		}, func(int) any { return 0 }}, // it is the root that gives it up
		"allreduce": {func(*client.Client) int { return 30_000 }, func(ctx context.Context, c *client.Client, send []int) (any, error) {
			recv := make([]int, len(send))
			err := client.AllReduceFunc(ctx, c.World(), concat, send, recv)
			return recv[len(recv)-1], err
		}, func(int) any { return 1234 }},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, all := within(t), newCore(t).job()
			call := func(ctx context.Context, c *client.Client) (any, []int, error) {
				send := slices.Repeat([]int{c.Rank() + 1}, x.length(c))
				got, err := x.call(ctx, c, send)
				return got, send, err
			}
			_, send, err := call(soon(t, all[2].World()), all[2])
			require.ErrorIs(t, err, client.ErrBroken)
			require.ErrorIs(t, err, errEnough)
			clear(send) // it is the program's again
			require.ErrorIs(t, all[2].World().Barrier(ctx), client.ErrBroken)
			each(t, slices.Concat(all[:2], all[3:]), func(c *client.Client) error {
				got, _, err := call(ctx, c)
				if err == nil && !reflect.DeepEqual(got, x.want(c.Rank())) {
					err = fmt.Errorf("%v, not %v", got, x.want(c.Rank()))
				}
				return err
			})
		})
	}
}

// firsts returns the first elements of lists, 0 where there is none.
func firsts(lists [][]int) (all []int) {
	for _, l := range lists {
		all = append(all, append(slices.Clone(l), 0)[0])
	}
	return all
}

// TestShrinkThatIsGivenUp goes on: the others get their communicator, and the rank gets
// it by its next Shrink, from whichever point it gave the first up.
func TestShrinkThatIsGivenUp(t *testing.T) {
	for _, who := range []int{0, 3} {
		ctx, all := within(t), newCore(t).job()
		_, err := all[who].World().Shrink(soon(t, all[who].World()))
		require.ErrorIs(t, err, client.ErrBroken)
		made := make([]*client.Comm, ranks)
		each(t, all, func(c *client.Client) (err error) {
			made[c.Rank()], err = c.World().Shrink(ctx)
			return err
		})
		each(t, all, func(c *client.Client) error { return operations(ctx, made[c.Rank()], 8) })
		each(t, all, func(c *client.Client) (err error) {
			if made[c.Rank()], err = c.World().Shrink(ctx); err != nil {
				return err
			}
			return operations(ctx, made[c.Rank()], 8)
		})
	}
}

// TestFreeThatFails leaves a communicator that can be shrunk, and one that was given up
// says so.
func TestFreeThatFails(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	made := make([]*client.Comm, ranks)
	each(t, all, func(c *client.Client) (err error) {
		made[c.Rank()], err = c.World().Split(ctx, 0, 0)
		return err
	})
	require.NoError(t, all[3].Close())
	each(t, all[:3], func(c *client.Client) error {
		var left *client.LeftError
		if err := made[c.Rank()].Free(ctx); !errors.As(err, &left) {
			return fmt.Errorf("free: %w", err)
		}
		less, err := made[c.Rank()].Shrink(ctx)
		if err != nil {
			return err
		}
		return less.Free(ctx)
	})
	given, err := all[0].World().Split(ctx, -1, 0)
	require.Error(t, err, "rank 3 has left")
	require.Nil(t, given)

	second := newCore(t).job()
	each(t, second, func(c *client.Client) (err error) {
		made[c.Rank()], err = c.World().Split(ctx, 0, 0)
		return err
	})
	require.ErrorIs(t, made[0].Free(soon(t, made[0])), client.ErrBroken)
	require.ErrorIs(t, made[0].Barrier(ctx), client.ErrBroken)
	each(t, second[1:], func(c *client.Client) error { return made[c.Rank()].Free(ctx) })
}

// TestFreeWaitsForWholeCalls, whose operations are begun one after the other.
func TestFreeWaitsForWholeCalls(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	for range 20 {
		made := make([]*client.Comm, ranks)
		each(t, all, func(c *client.Client) (err error) {
			made[c.Rank()], err = c.World().Split(ctx, 0, 0)
			return err
		})
		each(t, all, func(c *client.Client) error {
			gathered := make(chan error, 1)
			go func() {
				_, err := client.AllGatherv(ctx, made[c.Rank()], make([]int, 10_000*c.Rank()))
				gathered <- err
			}()
			for !client.Busy(made[c.Rank()]) && len(gathered) == 0 { // until it has begun, or ended already
				runtime.Gosched()
			}
			if err := made[c.Rank()].Free(ctx); err != nil {
				return err
			}
			return <-gathered
		})
	}
}

// TestShrinkAfterAFreeThatIsGivenUp is the way out of that, too.
func TestShrinkAfterAFreeThatIsGivenUp(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	made := make([]*client.Comm, ranks)
	each(t, all, func(c *client.Client) (err error) {
		made[c.Rank()], err = c.World().Split(ctx, 0, 0)
		return err
	})
	each(t, all[:2], func(c *client.Client) error {
		if err := made[c.Rank()].Free(soon(t, made[c.Rank()])); !errors.Is(err, client.ErrBroken) {
			return fmt.Errorf("free: %w", err)
		}
		return nil
	})
	each(t, all, func(c *client.Client) error {
		less, err := made[c.Rank()].Shrink(ctx)
		if err != nil {
			return err
		}
		return operations(ctx, less, 8)
	})
}

// TestFunctionsThatPanic do so in their caller.
func TestFunctionsThatPanic(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	panics := func(int, int) int { panic("no") }
	each(t, all, func(c *client.Client) error {
		v := []int{1}
		defer func() { _ = recover() }()
		err := client.AllReduceFunc(ctx, c.World(), panics, v, v)
		return fmt.Errorf("it returns %w", err)
	})
}

// TestCloseBesideWholeCalls ends them, from several goroutines.
func TestCloseBesideWholeCalls(t *testing.T) {
	for range 10 {
		ctx, all := within(t), newCore(t).job()
		var calls sync.WaitGroup
		for _, c := range all {
			for range 2 {
				calls.Go(func() { _, _ = client.AllGatherv(ctx, c.World(), []int{1}) })
				calls.Go(func() { _, _ = c.World().Shrink(ctx) })
				calls.Go(func() { _ = c.Close() })
			}
		}
		calls.Wait()
	}
}
