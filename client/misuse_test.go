package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

// within has what cannot end give up.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestWrongCalls makes each mistake at one rank: it is told at once, and the job goes on.
func TestWrongCalls(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	w := all[0].World()
	var none *client.Comm
	eight := make([]int, 8)
	second := func(_ any, err error) error { return err }
	place := make([]client.Indexed[int], 1)
	for says, err := range map[string]error{
		"member 4 of a communicator of 4":                       client.Bcast(ctx, w, ranks, eight),
		"gather: 64 bytes from each of 4 members into 64":       client.Gather(ctx, w, 0, eight, eight),
		"allgather: 64 bytes from each of 4 members into 64":    client.AllGather(ctx, w, eight, eight),
		"scatter: 64 bytes to 4 members with 64 each":           client.Scatter(ctx, w, 0, eight, eight),
		"alltoall: 3 elements are no equal parts for 4 members": client.AllToAll(ctx, w, make([]byte, 3), make([]byte, 3)),
		"alltoall: 1 elements are no equal parts for 4 members": client.AllToAll(ctx, w, eight[:1], make([]int, 1)),
		"alltoall: 32 and 64 bytes among 4 members":             client.AllToAll(ctx, w, make([]int, 4), eight),
		"alltoall: send and recv share memory":                  client.AllToAll(ctx, w, eight[:4], eight[2:6]),
		"allreduce: 64 bytes into 56":                           client.AllReduce(ctx, w, client.Sum, eight, eight[1:]),
		"reduce-scatter: 64 bytes to 4 members with 64 each":    client.ReduceScatter(ctx, w, client.Sum, eight, eight),
		"scan: 64 bytes into 56":                                client.Scan(ctx, w, client.Sum, eight, eight[1:]),
		"exscan: 64 bytes into 56":                              client.Exscan(ctx, w, client.Sum, eight, eight[1:]),
		"exclusive or of float64: bitwise functions are for":    client.AllReduce(ctx, w, client.Xor, make([]float64, 1), make([]float64, 1)),
		"operation 77, which does not exist":                    client.AllReduce(ctx, w, client.Op(77), eight, eight),
		"these are int":                                         client.AllReduce(ctx, w, client.MinLoc, eight, eight),
		"these are client.Indexed[int]":                         client.AllReduce(ctx, w, client.Sum, place, place),
		"8 elements are combined into 7":                        client.AllReduceFunc(ctx, w, func(a, b int) int { return a }, eight, eight[1:]),
		"gatherv: root 4 of a communicator of 4":                second(client.Gatherv(ctx, w, ranks, eight)),
		"tag -1, which is not in 0 to 2147483647":               client.Send(ctx, w, 1, -1, eight),
		"tag 2147483648, which":                                 client.Send(ctx, w, 1, client.MaxTag+1, eight),
		"tag 2147483711, which":                                 client.StartRecv(w, 1, client.MaxTag+64, eight).Wait(ctx),
		"tag -2, which":                                         second(w.Probe(ctx, 1, -2)),
		"tag -3, which":                                         second(client.Recv(ctx, w, 1, -3, eight)),
		"member -1 of":                                          client.Send(ctx, w, -1, 0, eight),
		"member -2 of":                                          second(w.Probe(ctx, -2, 0)),
		"put: key of 65 bytes, at most 64":                      all[0].Put(ctx, string(make([]byte, client.MaxKey+1)), nil),
		"put: value of 1025 bytes, at most 1024":                all[0].Put(ctx, "key", make([]byte, client.MaxValue+1)),
		"the world cannot be freed":                             w.Free(ctx),
		"a communicator of 0 ranks":                             second(all[0].Sub(ctx, nil)),
		"a communicator of others":                              second(all[0].Sub(ctx, []int{1, 2})),
		"a communicator with rank 0 twice":                      second(all[0].Sub(ctx, []int{0, 0})),
		"a communicator with rank 4 of a world of 4":            second(all[0].Sub(ctx, []int{0, ranks})),
		"a split by colour 2147483648":                          second(w.Split(ctx, 1<<31, 0)),
		"member 4":                                              second(w.Locate(ctx, ranks)),
		"barrier: nil is no communicator":                       none.Barrier(ctx),
		"bcast: nil is no communicator":                         client.Bcast(ctx, none, 0, eight),
		"recv: nil is no communicator":                          second(client.Recv(ctx, none, 0, 0, eight)),
		"gatherv: nil is no communicator":                       second(client.Gatherv(ctx, none, 0, eight)),
		"shrink: nil is no communicator":                        second(none.Shrink(ctx)),
		"no request to wait for":                                second(client.WaitAny(ctx, nil, nil)),
	} {
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, client.ErrBroken, says)
	}
	each(t, all, func(c *client.Client) error { return operations(ctx, c.World(), 8) })
}

// TestTruncated has a message that is too long, or half an element too long.
func TestTruncated(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	to, from := all[0].World(), all[1].World()
	sent := client.StartSend(from, 0, 5, make([]byte, 100))
	m, err := client.Recv(ctx, to, client.Any, 5, make([]byte, 10))
	require.ErrorIs(t, err, client.ErrTruncated)
	require.Equal(t, client.Message{Source: 1, Tag: 5, Size: 100}, m, "whose it was")
	require.EqualError(t, err, "a message of 100 bytes from member 1; there is room for 10")
	require.NoError(t, sent.Wait(ctx))
	for range 2 {
		require.NoError(t, client.Send(ctx, from, 0, 5, make([]byte, 9)))
	}
	_, err = client.Recv(ctx, to, 1, 5, make([]int64, 2))
	require.EqualError(t, err, "a message of 9 bytes is no whole number of elements, of 8 bytes each")
	_, _, err = client.RecvAlloc[int64](ctx, to, 1, 5)
	require.EqualError(t, err, "a message of 9 bytes is no whole number of elements, of 8 bytes each")
}

// TestMismatch has ranks disagree: all learn it, and what was called.
func TestMismatch(t *testing.T) {
	all := newCore(t).job()
	ctx := within(t)
	errs := make([]error, ranks)
	each(t, all, func(c *client.Client) error {
		if c.Rank() == 2 {
			errs[2] = c.World().Barrier(ctx)
		} else {
			errs[c.Rank()] = client.Bcast(ctx, c.World(), 0, make([]byte, 8))
		}
		if errs[c.Rank()] == nil { // it had its part before the first agent saw the difference
			errs[c.Rank()] = c.World().Barrier(ctx)
		}
		return nil
	})
	for rank, err := range errs {
		var mismatch *client.MismatchError
		require.ErrorAs(t, err, &mismatch, "rank %d", rank)
		require.Contains(t, mismatch.Text, "operation 0 of the world: ")
		require.Contains(t, mismatch.Text, "barrier")
	}
}

// TestLeaving has a rank leave: waits for it name it, and calls of its own say that it
// has left.
func TestLeaving(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	waits := all[0].World().StartBarrier()
	given := client.StartRecv(all[3].World(), 0, 1, make([]byte, 1))
	require.NoError(t, all[3].Close())
	for _, err := range []error{given.Wait(ctx), all[3].World().Barrier(ctx), all[3].Fence(ctx), all[3].Put(ctx, "key", nil)} {
		require.ErrorIs(t, err, client.ErrClosed)
		require.EqualError(t, err, "the connection was closed")
	}
	_, located := all[3].World().Locate(ctx, 0)
	require.ErrorIs(t, located, client.ErrClosed)
	require.NoError(t, all[3].Close(), "closing again does nothing")
	_, recv := client.Recv(ctx, all[1].World(), 3, 1, make([]byte, 1))
	_, probe := all[1].World().Probe(ctx, 3, 1)
	_, sub := all[1].Sub(ctx, []int{3, 1})
	for what, err := range map[string]error{"barrier": waits.Wait(ctx), "recv": recv, "probe": probe, "sub": sub,
		"send": client.Send(ctx, all[2].World(), 3, 1, make([]byte, 1))} {
		var left *client.LeftError
		require.ErrorAs(t, err, &left, what)
		require.Equal(t, []int{3}, left.Ranks, what)
		require.EqualError(t, err, "rank 3 has left", what)
	}
}

// TestFreed uses a communicator after its end.
func TestFreed(t *testing.T) {
	ctx := within(t)
	each(t, newCore(t).job(), func(c *client.Client) error {
		half, err := c.World().Split(ctx, c.Rank()%2, 0)
		if err == nil {
			err = half.Free(ctx)
		}
		if err != nil {
			return err
		}
		for _, err := range []error{half.Barrier(ctx), half.Free(ctx), client.Send(ctx, half, 0, 0, []byte{1})} {
			if !errors.Is(err, client.ErrFreed) {
				return fmt.Errorf("after the end: %w", err)
			}
		}
		return nil
	})
}

// TestTwoWaitForOne has the context of one of them end: the wait is over for both.
func TestTwoWaitForOne(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	q := client.StartRecv(all[0].World(), 1, 1, make([]byte, 1))
	gone, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- q.Wait(ctx) }() // ends with the other
	go func() { _, err := client.WaitAny(ctx, nil, q); ended <- err }()
	cancel()
	require.ErrorIs(t, q.Wait(gone), client.ErrBroken)
	for range 2 {
		require.ErrorIs(t, <-ended, client.ErrBroken)
	}
	done, err := q.Test()
	require.True(t, done)
	require.ErrorIs(t, err, client.ErrBroken)
}

// TestScansDisagree has members give other numbers of elements to a scan, short or long:
// all are told, and nobody gets a value.
func TestScansDisagree(t *testing.T) {
	const short, long = 4, 30_000
	for name, lengths := range map[string][ranks]int{
		"one short": {short, short, short, short + 1}, "one long": {long, long, long + 1, long},
		"short and long": {long, short, long, long}, "long and short": {short, long, short, short},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scan := range []func(context.Context, *client.Comm, client.Op, []int64, []int64) error{client.Scan[int64], client.Exscan[int64]} {
				ctx := within(t)
				each(t, newCore(t).job(), func(c *client.Client) error {
					v := make([]int64, lengths[c.Rank()])
					got := slices.Repeat([]int64{-1}, len(v))
					err := scan(ctx, c.World(), client.Sum, v, got)
					var differ *client.MismatchError
					if !errors.As(err, &differ) || slices.Contains(got, 0) {
						return fmt.Errorf("%w, and %d", err, got)
					}
					return nil
				})
			}
		})
	}
}
