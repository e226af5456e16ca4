package client_test

import (
	"bytes"
	"encoding/binary"
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

// text is what a rank has for another.
func text(src, dst, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(src*7 + dst*13 + i)
	}
	return b
}

// number is an int64 of each of some elements.
func number(v int64, size int) []byte {
	b := make([]byte, size)
	for i := 0; i < size; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(v))
	}
	return b
}

func expect(what string, got, want []byte, err error) error {
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("a wrong result")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// operations does every operation of a communicator once.
func operations(c *client.Comm, size int) error {
	me, p, root := c.Rank(), c.Size(), c.Size()-1
	if err := c.Barrier(); err != nil {
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
	if err := expect("bcast", got, text(root, 0, size), c.Bcast(root, got)); err != nil {
		return err
	}
	var all, want []byte
	if me == root {
		all, want = make([]byte, p*size), fromAll(0)
	}
	if err := expect("gather", all, want, c.Gather(root, text(me, 0, size), all)); err != nil {
		return err
	}
	all = make([]byte, p*size)
	if err := expect("allgather", all, fromAll(0), c.AllGather(text(me, 0, size), all)); err != nil {
		return err
	}
	if err := expect("alltoall", all, fromAll(me), c.AllToAll(toAll(me), all)); err != nil {
		return err
	}
	if err := expect("scatter", got, text(root, me, size), c.Scatter(root, toAll(root), got)); err != nil {
		return err
	}
	sum := int64(p * (p - 1) / 2)
	if err := expect("allreduce", got, number(sum, size), c.AllReduce(client.Int64, client.Sum, number(int64(me), size), got)); err != nil {
		return err
	}
	if err := expect("scan", got, number(int64(me*(me+1)/2), size), c.Scan(client.Int64, client.Sum, number(int64(me), size), got)); err != nil {
		return err
	}
	clear(got)
	want = number(0, size)
	if me == root {
		want = number(int64(p-1), size)
	}
	if err := expect("reduce", got, want, c.Reduce(root, client.Int64, client.Max, number(int64(me), size), got)); err != nil {
		return err
	}
	left, right := (me+p-1)%p, (me+1)%p
	sent := c.StartSend(right, 3, text(me, right, size))
	m, err := c.Recv(client.Any, client.Any, got)
	if err == nil && m != (client.Message{Source: left, Tag: 3, Size: size}) {
		err = fmt.Errorf("message %+v", m)
	}
	if err := expect("recv", got, text(left, me, size), err); err != nil {
		return err
	}
	return expect("send", nil, nil, sent.Wait())
}

func TestOperations(t *testing.T) {
	all := newCore(t).job()
	for rank, c := range all {
		require.Equal(t, []int{rank, ranks, rank / perNode, nodes}, []int{c.Rank(), c.Size(), c.Node(), c.Nodes()})
	}
	for _, size := range []int{8, 1000, 200_000} {
		each(t, all, func(c *client.Client) error { return operations(c.World(), size) })
	}
}

func TestCommunicators(t *testing.T) {
	each(t, newCore(t).job(), func(c *client.Client) error {
		half, err := c.World().Split(c.Rank()%2, -c.Rank())
		if err != nil {
			return err
		}
		if want := 1 - c.Rank()/2; half.Rank() != want || half.Size() != ranks/2 {
			return fmt.Errorf("number %d of %d; %d was expected", half.Rank(), half.Size(), want)
		}
		if at, err := half.Locate(0); err != nil || at != (client.Location{Rank: 2 + c.Rank()%2, Node: 1}) {
			return fmt.Errorf("member 0 is at %+v: %w", at, err)
		}
		if err := operations(half, 40); err != nil {
			return err
		}
		if err := half.Free(); err != nil {
			return err
		}
		none, err := c.World().Split(-1, 0)
		if none != nil || err != nil {
			return fmt.Errorf("a communicator for nobody: %v, %w", none, err)
		}
		if c.Rank() == 1 {
			return nil
		}
		some, err := c.Sub([]int{3, 0, 2})
		if err != nil {
			return err
		}
		return operations(some, 40)
	})
}

func TestBoard(t *testing.T) {
	agent := newCore(t)
	agent.image = filepath.Join(t.TempDir(), "board")
	each(t, agent.job(), func(c *client.Client) error {
		mine := fmt.Sprintf("key%d", c.Rank())
		if err := c.Put(mine, []byte(mine+"'s value")); err != nil {
			return err
		}
		if err := c.Put(string(make([]byte, 1000)), nil); err == nil {
			return fmt.Errorf("a key of 1000 bytes was taken")
		}
		return c.Fence()
	})
	one, err := agent.open(0) // a rank calls once; this core does not mind
	require.NoError(t, err)
	defer one.Close()
	board, err := one.Board()
	require.NoError(t, err)
	require.EqualValues(t, 1, board.Epoch())
	for rank := range ranks {
		key := fmt.Sprintf("key%d", rank)
		value, found, err := one.Get(key)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, key+"'s value", string(value))
		value, found = board.Get(key)
		require.True(t, found)
		require.Equal(t, key+"'s value", string(value))
	}
	_, found, err := one.Get("other")
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
	_, err = one.Board()
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
					sent := w.StartSend(peer, tag, text(c.Rank(), peer, 10))
					_, err := w.Recv(from, tag, got)
					if err = expect("recv", got, text(from, c.Rank(), 10), err); err == nil {
						err = sent.Wait()
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
		got, err := c.Schedule("next", 8)
		if err != nil {
			return err
		}
		want := []client.ScheduledMessage{{Peer: (c.Rank() + 1) % ranks, Bytes: 8}, {Peer: (c.Rank() + ranks - 1) % ranks, Received: true, Bytes: 8}}
		if len(got) != 3 || got[0] != nil || !slices.Equal(got[1], want) || got[2] != nil {
			return fmt.Errorf("the schedule is %v", got)
		}
		if got, err = c.Schedule("another", 8); err == nil || err.Error() != "no such algorithm" || got != nil {
			return fmt.Errorf("there is a schedule %v: %w", got, err)
		}
		return nil
	})
}

func TestWrongCalls(t *testing.T) {
	all := newCore(t).job()
	w := all[0].World()
	for name, err := range map[string]error{
		"no such root":     w.Bcast(ranks, make([]byte, 1)),
		"half an element":  w.AllReduce(client.Int64, client.Sum, make([]byte, 9), make([]byte, 9)),
		"bits of a float":  w.AllReduce(client.Float64, client.Xor, make([]byte, 8), make([]byte, 8)),
		"too little room":  w.AllGather(make([]byte, 8), make([]byte, 8)),
		"a negative tag":   w.Send(1, -1, nil),
		"a tag too large":  w.Send(1, (1<<31-1)+1, nil),
		"Scan's tag":       w.StartRecv(1, (1<<31-1)+64, nil).Wait(),
		"no such member":   w.Send(-1, 0, nil),
		"a huge value":     all[0].Put("key", make([]byte, 1<<20)),
		"freeing all":      w.Free(),
		"nobody":           func() error { _, err := all[0].Sub(nil); return err }(),
		"others":           func() error { _, err := all[0].Sub([]int{1, 2}); return err }(),
		"twice":            func() error { _, err := all[0].Sub([]int{0, 0}); return err }(),
		"no rank":          func() error { _, err := all[0].Sub([]int{0, ranks}); return err }(),
		"nobody to locate": func() error { _, err := w.Locate(ranks); return err }(),
	} {
		require.Error(t, err, name)
	}
	sent := all[1].World().StartSend(0, 5, make([]byte, 100))
	m, err := w.Recv(1, 5, make([]byte, 10))
	require.ErrorContains(t, err, "a message of 100 bytes from member 1; there is room for 10", "%+v", m)
	require.NoError(t, sent.Wait())
	each(t, all, func(c *client.Client) error { return operations(c.World(), 8) })
}

func TestLeaving(t *testing.T) {
	all := newCore(t).job()
	waits := all[0].World().StartBarrier()
	given := all[3].World().StartRecv(0, 1, make([]byte, 1))
	require.NoError(t, all[3].Close())
	require.EqualError(t, waits.Wait(), "rank 3 has left")
	require.EqualError(t, given.Wait(), "the connection was closed")
	require.EqualError(t, all[3].World().Barrier(), "the connection was closed")
	require.NoError(t, all[3].Close(), "closing again does nothing")
	_, err := all[1].World().Recv(3, 1, make([]byte, 1))
	require.EqualError(t, err, "rank 3 has left")
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
	require.EqualError(t, waits.Wait(), "the agent has closed the connection")
	require.Error(t, all[2].Put("key", nil))
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
			tasks.Go(func() { errs[thread] = c.Fence() })
		}
		tasks.Wait()
		return errors.Join(errs...)
	})
	board, err := all[0].Board()
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
		_, err := client.Open()
		require.ErrorIs(t, err, client.ErrNotLaunched)
		require.EqualError(t, err, x.says)
	}
	require.NoError(t, os.Unsetenv("GOLAUNCH_FD"))
	_, err = client.Open()
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
		job, err := client.Open()
		require.NoError(t, err)
		require.Equal(t, world, c.world)
		require.NoError(t, job.Close())
	}
	t.Setenv("GOLAUNCH_WORLD", "one")
	_, err := client.Open()
	require.EqualError(t, err, `golaunch: $GOLAUNCH_WORLD is "one", no world: not a rank of a golaunch job`)
}
