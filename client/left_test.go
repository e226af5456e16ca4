package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

// TestHearsOfThoseWhoLeave has a rank that receives from any other be told of each that
// leaves, once, and after what it had sent.
func TestHearsOfThoseWhoLeave(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	world := all[0].World()
	left, other := world.StartLeft(), world.StartLeft()
	require.NoError(t, client.Send(ctx, all[3].World(), 0, 1, []byte{7}))
	require.NoError(t, all[3].Close())
	told := func(r *client.Request) []int {
		var left *client.LeftError
		require.ErrorAs(t, r.Wait(ctx), &left)
		return left.Ranks
	}
	buf := make([]byte, 1)
	work := client.StartRecv(world, client.Any, 1, buf)
	first, err := client.WaitAny(ctx, work)
	require.NoError(t, err)
	require.Zero(t, first)
	require.Equal(t, []byte{7}, buf, "what rank 3 had sent")
	work = client.StartRecv(world, client.Any, 1, buf)
	first, err = client.WaitAny(ctx, work, left)
	require.Equal(t, 1, first, "nobody sends any more")
	require.EqualError(t, err, "rank 3 has left")
	require.Equal(t, []int{3}, told(left), "waiting again tells the same")

	// Another wait goes on for others, and one that was given up loses none.
	require.NoError(t, all[1].Close())
	require.Equal(t, []int{1}, told(other))
	gone, cancel := context.WithCancel(ctx)
	given := world.StartLeft()
	cancel()
	require.ErrorIs(t, given.Wait(gone), context.Canceled)
	require.NoError(t, client.Send(ctx, world, 0, 1, []byte{8}), "the communicator serves on")
	_, err = work.Message(ctx)
	require.NoError(t, err)
	require.Equal(t, []byte{8}, buf)
	require.NoError(t, all[2].Close())
	require.Equal(t, []int{2}, told(world.StartLeft()))
	_, err = client.Recv(ctx, world, client.Any, 1, buf)
	var alone *client.LeftError
	require.ErrorAs(t, err, &alone, "nobody else is left")
}

// TestHearsAfterWhatWasSent has ranks leave at once after many messages, of which one is
// received at a time: nobody is told of them before.
func TestHearsAfterWhatWasSent(t *testing.T) {
	const messages = 300
	ctx, all := within(t), newCore(t).job()
	world := all[0].World()
	for rank := 1; rank < ranks; rank++ {
		go func() {
			for i := range messages {
				if client.Send(ctx, all[rank].World(), 0, 1+i%2, []int64{int64(rank)}) != nil {
					return
				}
			}
			_ = all[rank].Close()
		}()
	}
	buf, got, left := make([]int64, 1), make([]int, ranks), world.StartLeft()
	for gone := 0; gone < ranks-1; {
		work := client.StartRecv(world, client.Any, client.Any, buf)
		for {
			first, err := client.WaitAny(ctx, work, left)
			if first == 0 && err == nil {
				got[buf[0]]++
				break
			}
			var who *client.LeftError
			require.ErrorAs(t, err, &who)
			if first == 0 { // nobody is there to receive from: all have left
				require.ErrorAs(t, left.Wait(ctx), &who)
			}
			for _, rank := range who.Ranks {
				require.Equal(t, messages, got[rank], "rank %d", rank)
				gone++
			}
			left = world.StartLeft()
			if gone == ranks-1 {
				break
			}
		}
	}
	// A message that nobody receives does not keep the news from waits for others.
	second := newCore(t).job()
	world = second[0].World()
	require.NoError(t, client.Send(ctx, second[3].World(), 0, 9, []int64{1}))
	require.NoError(t, second[3].Close())
	_ = client.StartRecv(world, client.Any, 1, buf)
	var who *client.LeftError
	require.ErrorAs(t, world.StartLeft().Wait(ctx), &who)
	require.Equal(t, []int{3}, who.Ranks)
}

// TestHearsInAHalf asks a communicator that a Split made, in its own numbers.
func TestHearsInAHalf(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	halves := make([]*client.Comm, len(all))
	each(t, all, func(c *client.Client) (err error) {
		halves[c.Rank()], err = c.World().Split(ctx, c.Rank()%2, 0)
		return err
	})
	require.NoError(t, all[3].Close())
	var left *client.LeftError
	require.ErrorAs(t, halves[1].StartLeft().Wait(ctx), &left)
	require.Equal(t, []int{1}, left.Ranks)
	wait := halves[0].StartLeft()
	done, _ := wait.Test()
	require.False(t, done, "nobody of the other half has left")
}

// TestNoRequest waits for nil.
func TestNoRequest(t *testing.T) {
	var none *client.Request
	require.EqualError(t, none.Wait(within(t)), "nil is no request to wait for")
	require.Error(t, new(client.Request).Wait(within(t)))
	done, err := none.Test()
	require.True(t, done)
	require.Error(t, err)
	_, err = client.WaitAny(within(t), nil)
	require.Error(t, err)
}

// TestNewsThatIsGivenUp is not lost, however close the end of the wait is to the news.
func TestNewsThatIsGivenUp(t *testing.T) {
	for range 20 {
		ctx, all := within(t), newCore(t).job()
		world := all[0].World()
		for _, c := range all[1:] {
			go c.Close()
		}
		told := map[int]bool{}
		for i := 0; len(told) < ranks-1; i++ {
			soon, cancel := context.WithTimeout(ctx, time.Duration(i%30)*time.Microsecond)
			var left *client.LeftError
			if errors.As(world.StartLeft().Wait(soon), &left) {
				for _, rank := range left.Ranks {
					require.False(t, told[rank], "rank %d", rank)
					told[rank] = true
				}
			}
			cancel()
			require.NoError(t, ctx.Err(), "%v", told)
		}
	}
}
