package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
)

// text returns a rank's message for another.
func text(src, dst, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(src*7 + dst*13 + i)
	}
	return b
}

// number is some elements of one value.
func number(v, size int) []int { return slices.Repeat([]int{v}, size/8) }

func expect[T comparable](what string, got, want []T, err error) error {
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("a wrong result")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// operations does every operation of a communicator once.
func operations(ctx context.Context, c *client.Comm, size int) error {
	me, p, root := c.Rank(), c.Size(), c.Size()-1
	if err := c.Barrier(ctx); err != nil {
		return err
	}
	concat := func(part func(i int) []byte) (b []byte) {
		for i := range p {
			b = append(b, part(i)...)
		}
		return b
	}
	fromAll := func(dst int) []byte { return concat(func(i int) []byte { return text(i, dst, size) }) }
	toAll := func(src int) []byte { return concat(func(i int) []byte { return text(src, i, size) }) }
	got := make([]byte, size)
	if me == root {
		copy(got, text(root, 0, size))
	}
	if err := expect("bcast", got, text(root, 0, size), client.Bcast(ctx, c, root, got)); err != nil {
		return err
	}
	var all, want []byte
	if me == root {
		all, want = make([]byte, p*size), fromAll(0)
	}
	if err := expect("gather", all, want, client.Gather(ctx, c, root, text(me, 0, size), all)); err != nil {
		return err
	}
	all = make([]byte, p*size)
	if err := expect("allgather", all, fromAll(0), client.AllGather(ctx, c, text(me, 0, size), all)); err != nil {
		return err
	}
	if err := expect("alltoall", all, fromAll(me), client.AllToAll(ctx, c, toAll(me), all)); err != nil {
		return err
	}
	if err := expect("scatter", got, text(root, me, size), client.Scatter(ctx, c, root, toAll(root), got)); err != nil {
		return err
	}
	sum, v := p*(p-1)/2, number(me, size)
	if err := expect("allreduce", v, number(sum, size), client.AllReduce(ctx, c, client.Sum, v, v)); err != nil {
		return err
	}
	v = number(me, size)
	if err := expect("scan", v, number(me*(me+1)/2, size), client.Scan(ctx, c, client.Sum, v, v)); err != nil {
		return err
	}
	before := number(-1, size)
	wantBefore := number(me*(me-1)/2, size)
	if me == 0 {
		wantBefore = number(-1, size)
	}
	if err := expect("exscan", before, wantBefore, client.Exscan(ctx, c, client.Sum, number(me, size), before)); err != nil {
		return err
	}
	all2, wantMax := number(0, size), number(0, size)
	if me == root {
		wantMax = number(p-1, size)
	}
	if err := expect("reduce", all2, wantMax, client.Reduce(ctx, c, root, client.Max, number(me, size), all2)); err != nil {
		return err
	}
	share := number(0, size)
	if err := expect("reduce-scatter", share, number(sum, size), client.ReduceScatter(ctx, c, client.Sum, slices.Repeat(number(me, size), p), share)); err != nil {
		return err
	}
	left, right := (me+p-1)%p, (me+1)%p
	sent := client.StartSend(c, right, 3, text(me, right, size))
	m, err := client.Recv(ctx, c, client.Any, client.Any, got)
	if err == nil && m != (client.Message{Source: left, Tag: 3, Size: size}) {
		err = fmt.Errorf("message %+v", m)
	}
	if err := expect("recv", got, text(left, me, size), err); err != nil {
		return err
	}
	return expect[byte]("send", nil, nil, sent.Wait(ctx))
}

func TestOperations(t *testing.T) {
	all := newCore(t).job()
	for rank, c := range all {
		require.Equal(t, []int{rank, ranks, rank / perNode, nodes}, []int{c.Rank(), c.Size(), c.Node(), c.Nodes()})
	}
	for _, size := range []int{8, 1000, 200_000} {
		each(t, all, func(c *client.Client) error { return operations(t.Context(), c.World(), size) })
	}
}

func TestCommunicators(t *testing.T) {
	ctx := t.Context()
	each(t, newCore(t).job(), func(c *client.Client) error {
		half, err := c.World().Split(ctx, c.Rank()%2, -c.Rank())
		if err != nil {
			return err
		}
		if want := 1 - c.Rank()/2; half.Rank() != want || half.Size() != ranks/2 {
			return fmt.Errorf("number %d of %d; %d was expected", half.Rank(), half.Size(), want)
		}
		if at, err := half.Locate(ctx, 0); err != nil || at != (client.Location{Rank: 2 + c.Rank()%2, Node: 1}) {
			return fmt.Errorf("member 0 is at %+v: %w", at, err)
		}
		if err := operations(ctx, half, 40); err != nil {
			return err
		}
		if err := half.Free(ctx); err != nil {
			return err
		}
		none, err := c.World().Split(ctx, -1, 0)
		if none != nil || err != nil {
			return fmt.Errorf("a communicator for nobody: %v, %w", none, err)
		}
		if c.Rank() == 1 {
			return nil
		}
		some, err := c.Sub(ctx, []int{3, 0, 2})
		if err != nil {
			return err
		}
		return operations(ctx, some, 40)
	})
}

func TestBoard(t *testing.T) {
	ctx := t.Context()
	agent := newCore(t)
	agent.image = filepath.Join(t.TempDir(), "board")
	each(t, agent.job(), func(c *client.Client) error {
		mine := fmt.Sprintf("key%d", c.Rank())
		if err := c.Put(ctx, mine, []byte(mine+"'s value")); err != nil {
			return err
		}
		if err := c.Put(ctx, string(make([]byte, 1000)), nil); err == nil {
			return fmt.Errorf("a key of 1000 bytes was taken")
		}
		return c.Fence(t.Context())
	})
	one, err := agent.open(0) // a rank calls once; this core does not mind
	require.NoError(t, err)
	defer one.Close()
	board, err := one.Board(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, board.Epoch())
	for rank := range ranks {
		key := fmt.Sprintf("key%d", rank)
		value, found, err := one.Get(ctx, key)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, key+"'s value", string(value))
		value, found = board.Get(key)
		require.True(t, found)
		require.Equal(t, key+"'s value", string(value))
	}
	_, found, err := one.Get(ctx, "other")
	require.NoError(t, err)
	require.False(t, found)
	_, found = board.Get("other")
	require.False(t, found)
	require.NoError(t, board.Close())
	require.NoError(t, board.Close(), "closing again does nothing")
	_, found = board.Get("key0")
	require.False(t, found, "a closed board holds nothing")

	agent.mu.Lock()
	agent.image = filepath.Join(t.TempDir(), "missing", "board")
	agent.mu.Unlock()
	_, err = one.Board(t.Context())
	require.ErrorContains(t, err, "missing")
}

// TestManyAtOnce has several goroutines of each rank send and receive, more than
// may be under way.
func TestManyAtOnce(t *testing.T) {
	const threads, messages = 4, 50
	each(t, newCore(t).job(), func(c *client.Client) error {
		w := c.World()
		errs := make([]error, threads)
		var tasks sync.WaitGroup
		for thread := range threads {
			tasks.Go(func() {
				for i := range messages {
					peer := (c.Rank() + 1 + i%(ranks-1)) % ranks
					from := (c.Rank() + ranks - 1 - i%(ranks-1)) % ranks
					tag, got := thread*messages+i, make([]byte, 10)
					sent := client.StartSend(w, peer, tag, text(c.Rank(), peer, 10))
					_, err := client.Recv(t.Context(), w, from, tag, got)
					if err = expect("recv", got, text(from, c.Rank(), 10), err); err == nil {
						err = sent.Wait(t.Context())
					}
					if err != nil {
						errs[thread] = err
						return
					}
				}
			})
		}
		tasks.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Each rank is told what it sends and receives, stage by stage.
func TestSchedule(t *testing.T) {
	each(t, newCore(t).job(), func(c *client.Client) error {
		got, err := c.Schedule(t.Context(), "next", 8)
		if err != nil {
			return err
		}
		want := []client.ScheduledMessage{{Peer: (c.Rank() + 1) % ranks, Bytes: 8}, {Peer: (c.Rank() + ranks - 1) % ranks, Received: true, Bytes: 8}}
		if len(got) != 3 || got[0] != nil || !slices.Equal(got[1], want) || got[2] != nil {
			return fmt.Errorf("the schedule is %v", got)
		}
		if got, err = c.Schedule(t.Context(), "another", 8); err == nil || err.Error() != "no such algorithm" || got != nil {
			return fmt.Errorf("there is a schedule %v: %w", got, err)
		}
		return nil
	})
}

// TestAgentGoes ends the agent's end of a connection.
func TestAgentGoes(t *testing.T) {
	agent := newCore(t)
	all := agent.job()
	waits := all[2].World().StartBarrier()
	agent.mu.Lock()
	conn := agent.callers[2].conn
	agent.mu.Unlock()
	require.NoError(t, conn.Close())
	require.EqualError(t, waits.Wait(t.Context()), "the agent has closed the connection")
	require.Error(t, all[2].Put(t.Context(), "key", nil))
}

// TestFencesOfSeveralGoroutines has two goroutines of each rank fence: these are two
// fences, one after the other.
func TestFencesOfSeveralGoroutines(t *testing.T) {
	const threads = 2
	agent := newCore(t)
	agent.image = filepath.Join(t.TempDir(), "board")
	all := agent.job()
	each(t, all, func(c *client.Client) error {
		errs := make([]error, threads)
		var tasks sync.WaitGroup
		for thread := range threads {
			tasks.Go(func() { errs[thread] = c.Fence(t.Context()) })
		}
		tasks.Wait()
		return errors.Join(errs...)
	})
	board, err := all[0].Board(t.Context())
	require.NoError(t, err)
	defer board.Close()
	require.EqualValues(t, threads, board.Epoch())
}

func TestOpenRefused(t *testing.T) {
	agent := newCore(t)
	agent.mu.Lock()
	agent.refuse = "rank 1 is not on this node"
	agent.mu.Unlock()
	_, err := agent.open(1)
	require.EqualError(t, err, "golaunch: agent: rank 1 is not on this node")
	for _, x := range []struct{ fd, rank, says string }{
		{"", "0", `golaunch: $GOLAUNCH_FD is "", no descriptor: not a rank of a golaunch job`},
		{"x", "0", `golaunch: $GOLAUNCH_FD is "x", no descriptor: not a rank of a golaunch job`},
		{"3", "-1", `golaunch: $PMI_RANK is "-1", no rank: not a rank of a golaunch job`},
		{"3", "y", `golaunch: $PMI_RANK is "y", no rank: not a rank of a golaunch job`},
	} {
		t.Setenv("GOLAUNCH_FD", x.fd)
		t.Setenv("PMI_RANK", x.rank)
		_, err := client.Open(t.Context())
		require.ErrorIs(t, err, client.ErrNotLaunched)
		require.EqualError(t, err, x.says)
	}
	require.NoError(t, os.Unsetenv("GOLAUNCH_FD"))
	_, err = client.Open(t.Context())
	require.ErrorIs(t, err, client.ErrNotLaunched)
	require.EqualError(t, err, "golaunch: $GOLAUNCH_FD is not set: not a rank of a golaunch job")
}

// A rank says which world it is of; one of the first is not told.
func TestOpenSaysTheWorld(t *testing.T) {
	for world, value := range map[int]string{0: "", 7: "7"} {
		c := newCore(t)
		t.Setenv("GOLAUNCH_FD", strconv.Itoa(c.shared[0]))
		t.Setenv("PMI_RANK", "1")
		t.Setenv("GOLAUNCH_WORLD", value)
		if value == "" {
			require.NoError(t, os.Unsetenv("GOLAUNCH_WORLD"))
		}
		job, err := client.Open(t.Context())
		require.NoError(t, err)
		require.Equal(t, world, c.world)
		require.NoError(t, job.Close())
	}
	t.Setenv("GOLAUNCH_WORLD", "one")
	_, err := client.Open(t.Context())
	require.EqualError(t, err, `golaunch: $GOLAUNCH_WORLD is "one", no world: not a rank of a golaunch job`)
}
