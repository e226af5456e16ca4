package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

func TestProbe(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	to, from := all[0].World(), all[3].World()
	_, found, err := to.TryProbe(ctx, client.Any, client.Any)
	require.NoError(t, err)
	require.False(t, found)
	for _, size := range []int{0, 100, 200_000} {
		probed := make(chan client.Message)
		go func() {
			m, err := to.Probe(ctx, client.Any, 9)
			if err != nil {
				t.Error(err)
			}
			probed <- m
		}()
		sent := client.StartSend(from, 0, 9, text(3, 0, size))
		want := client.Message{Source: 3, Tag: 9, Size: size}
		require.Equal(t, want, <-probed)
		m, found, err := to.TryProbe(ctx, 3, client.Any)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, m, "it is still there")
		data, m, err := client.RecvAlloc[byte](ctx, to, m.Source, m.Tag)
		require.NoError(t, err)
		require.Equal(t, want, m)
		require.True(t, bytes.Equal(text(3, 0, size), data))
		require.NoError(t, sent.Wait(ctx))
		_, found, err = to.TryProbe(ctx, 3, client.Any)
		require.NoError(t, err)
		require.False(t, found, "it was taken")
	}
}

// TestParts gathers parts of lengths that are alike, of one that is long, and of none.
func TestParts(t *testing.T) {
	ctx := within(t)
	each(t, newCore(t).job(), func(c *client.Client) error {
		for _, lengths := range [][]int{{1, 2, 3, 4}, {5000, 5000, 4000, 5000}, {0, 0, 200_000, 1}, {100_000, 0, 0, 0}, {0, 0, 0, 0}} {
			mine := slices.Repeat([]int32{int32(c.Rank())}, lengths[c.Rank()])
			everywhere, err := client.AllGatherv(ctx, c.World(), mine)
			if err != nil {
				return err
			}
			at2, err := client.Gatherv(ctx, c.World(), 2, mine)
			if err != nil {
				return err
			}
			if c.Rank() != 2 {
				if at2 != nil {
					return fmt.Errorf("others got %v", at2)
				}
				at2 = everywhere
			}
			for _, parts := range [][][]int32{everywhere, at2} {
				for i, n := range lengths {
					if !slices.Equal(parts[i], slices.Repeat([]int32{int32(i)}, n)) {
						return fmt.Errorf("part %d of lengths %v has %d elements, or wrong ones", i, lengths, len(parts[i]))
					}
				}
			}
		}
		return nil
	})
}

// TestPartsOfOnlySome has members come to the messages of a Gatherv whose lengths have
// failed for others, since one left: they hear of it, and nobody waits for ever.
func TestPartsOfOnlySome(t *testing.T) {
	ctx := within(t)
	lengths, why := []int64{0, 100_000, 10, 0}, &client.LeftError{Ranks: []int{3}, Text: "rank 3 has left"}
	each(t, newCore(t).job(), func(c *client.Client) error {
		w, err := c.World().Split(ctx, 0, 0)
		if err != nil {
			return err
		}
		mine := make([]int32, lengths[c.Rank()])
		for _, fails := range []func(rank int) bool{
			func(rank int) bool { return rank >= 2 },
			func(rank int) bool { return rank != 1 },
		} {
			if fails(c.Rank()) {
				if err := client.Excused(w, 0, mine, why); !errors.Is(err, why) {
					return err
				}
				continue
			}
			_, err := client.GatherMessages(ctx, w, 0, mine, lengths)
			var left *client.LeftError
			if c.Rank() == 0 && (!errors.As(err, &left) || left.Text != why.Text || !slices.Equal(left.Ranks, why.Ranks)) || c.Rank() == 1 && err != nil {
				return fmt.Errorf("rank %d got %w", c.Rank(), err)
			}
		}
		return w.Free(ctx) // nobody has left, in truth, and nothing is under way
	})
}

// TestFunctions of the program are called in the order of ranks.
func TestFunctions(t *testing.T) {
	ctx := within(t)
	digits := func(a, b int64) int64 { return 10*a + b }
	each(t, newCore(t).job(), func(c *client.Client) error {
		for _, n := range []int{0, 1, 20_000} {
			send, recv := slices.Repeat([]int64{int64(c.Rank() + 1)}, n), make([]int64, n)
			want := slices.Repeat([]int64{1234}, n)
			if err := expect("allreduce", recv, want, client.AllReduceFunc(ctx, c.World(), digits, send, recv)); err != nil {
				return err
			}
			clear(recv)
			if c.Rank() != 1 {
				want = make([]int64, n)
			}
			if err := expect("reduce", recv, want, client.ReduceFunc(ctx, c.World(), 1, digits, send, recv)); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestPlaces(t *testing.T) {
	type place = client.Indexed[float32]
	ctx := within(t)
	each(t, newCore(t).job(), func(c *client.Client) error {
		mine := []place{{int64(c.Rank()), 1.5}, {int64(c.Rank()), float32(c.Rank() % 3)}}
		got := make([]place, 2)
		if err := expect("minloc", got, []place{{0, 1.5}, {0, 0}}, client.AllReduce(ctx, c.World(), client.MinLoc, mine, got)); err != nil {
			return err
		}
		return expect("maxloc", got, []place{{0, 1.5}, {2, 2}}, client.AllReduce(ctx, c.World(), client.MaxLoc, mine, got))
	})
}

// TestShrink has ranks leave, before the others shrink the world and while they do.
func TestShrink(t *testing.T) {
	shrunk := func(ctx context.Context, c *client.Client, want ...int) error {
		world, err := c.World().Shrink(ctx)
		if err != nil {
			return err
		}
		if world.Size() != len(want) || want[world.Rank()] != c.Rank() {
			return fmt.Errorf("member %d of %d", world.Rank(), world.Size())
		}
		return operations(ctx, world, 8)
	}
	for _, gone := range [][]int{{2}, {0}, {0, 1}, {3, 0, 2}} {
		for _, early := range []bool{true, false} {
			ctx, all := within(t), newCore(t).job()
			var living []int
			for rank := range ranks {
				if !slices.Contains(gone, rank) {
					living = append(living, rank)
				} else if early {
					require.NoError(t, all[rank].Close())
				}
			}
			each(t, all, func(c *client.Client) error {
				if slices.Contains(gone, c.Rank()) {
					return c.Close()
				}
				return shrunk(ctx, c, living...)
			})
		}
	}
}

// TestShrinksAtOnce has goroutines shrink communicators of the same members: each gets
// those of its own.
func TestShrinksAtOnce(t *testing.T) {
	const goroutines, rounds = 4, 20
	ctx := within(t)
	each(t, newCore(t).job(), func(c *client.Client) error {
		var own [goroutines]*client.Comm
		for i := range own {
			var err error
			if own[i], err = c.World().Split(ctx, 0, 0); err != nil {
				return err
			}
		}
		failed := make(chan error, goroutines)
		for i := range own {
			go func() {
				failed <- func() error {
					at := own[i]
					for range rounds {
						made, err := at.Shrink(ctx)
						if err != nil {
							return err
						}
						all := make([]int, made.Size())
						if err := client.AllGather(ctx, made, []int{i}, all); err != nil {
							return err
						}
						if !slices.Equal(all, slices.Repeat([]int{i}, made.Size())) {
							return fmt.Errorf("goroutine %d is in a communicator with %d", i, all)
						}
						at = made
					}
					return nil
				}()
			}()
		}
		for range goroutines {
			if err := <-failed; err != nil {
				return err
			}
		}
		return nil
	})
}

// TestShrinksThatAreGivenUp has a rank take up all that it gave up.
func TestShrinksThatAreGivenUp(t *testing.T) {
	ctx := within(t)
	each(t, newCore(t).job(), func(c *client.Client) error {
		if c.Rank() == 0 {
			short, cancel := context.WithCancel(ctx)
			given := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := c.World().Shrink(short)
					given <- err
				}()
			}
			for !client.Busy(c.World()) {
				runtime.Gosched()
			}
			cancel()
			for range 2 {
				if err := <-given; err == nil {
					return errors.New("a Shrink succeeded without the others")
				}
			}
			if err := client.Send(ctx, c.World(), 1, 0, []byte{1}); !errors.Is(err, client.ErrBroken) {
				return err
			}
			if err := c.Put(ctx, "given", []byte{1}); err != nil {
				return err
			}
		}
		if err := c.Fence(ctx); err != nil {
			return err
		}
		for range 2 {
			made, err := c.World().Shrink(ctx)
			if err != nil {
				return err
			}
			if made.Size() != 4 {
				return fmt.Errorf("a communicator of %d", made.Size())
			}
			if err := made.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
