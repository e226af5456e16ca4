// Command tour shows the operations of package client: run it with "golaunch -n 8
// tour". Each rank checks its results, and rank 0 says so. With an argument, messages
// and buffers have that many bytes for each rank.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := tour(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func tour(ctx context.Context) error {
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	size := 1000
	if len(os.Args) > 1 {
		if size, err = strconv.Atoi(os.Args[1]); err != nil {
			return err
		}
	}
	world := job.World()
	if err := operations(ctx, world, size); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	if err := others(ctx, world, size); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	if err := halves(ctx, job, size); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	if err := board(ctx, job); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	if err := world.Barrier(ctx); err != nil {
		return err
	}
	if job.Rank() == 0 {
		fmt.Printf("tour of %d ranks on %d nodes: ok\n", job.Size(), job.Nodes())
	}
	return nil
}

// pattern returns the message of rank src for rank dst.
func pattern(src, dst, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(src*7 + dst*13 + i*3 + i>>8)
	}
	return b
}

// numbers returns as many bytes of a number.
func numbers(v, size int) []int { return slices.Repeat([]int{v}, size/8) }

// check is an operation under way, with its expected result.
type check struct {
	what string
	r    *client.Request
	ok   func() bool
}

func (x check) wait(ctx context.Context) error {
	if err := x.r.Wait(ctx); err != nil {
		return fmt.Errorf("%s: %w", x.what, err)
	}
	if !x.ok() {
		return fmt.Errorf("%s: a wrong result", x.what)
	}
	return nil
}

// operations does each once, all of them at the same time.
func operations(ctx context.Context, c *client.Comm, size int) error {
	p, me, root := c.Size(), c.Rank(), c.Size()/2
	var all, mine, ofAll []byte // from everyone for root; from everyone for me; from me for everyone
	for i := range p {
		all = append(all, pattern(i, root, size)...)
		mine = append(mine, pattern(i, me, size)...)
		ofAll = append(ofAll, pattern(me, i, size)...)
	}
	var checks []check
	add := func(what string, r *client.Request, ok func() bool) { checks = append(checks, check{what, r, ok}) }
	expect := func(what string, r *client.Request, got, want []byte) {
		add(what, r, func() bool { return bytes.Equal(got, want) })
	}
	combined := func(what string, r *client.Request, got []int, want int) {
		add(what, r, func() bool { return slices.Equal(got, numbers(want, size)) })
	}

	news := make([]byte, size)
	if me == root {
		copy(news, pattern(root, root, size))
	}
	expect("bcast", client.StartBcast(c, root, news), news, pattern(root, root, size))
	var gathered, want []byte
	if me == root {
		gathered, want = make([]byte, p*size), all
	}
	expect("gather", client.StartGather(c, root, pattern(me, root, size), gathered), gathered, want)
	everywhere := make([]byte, p*size)
	expect("allgather", client.StartAllGather(c, pattern(me, root, size), everywhere), everywhere, all)
	part := make([]byte, size)
	expect("scatter", client.StartScatter(c, root, ofAll, part), part, pattern(root, me, size))
	exchanged := make([]byte, p*size)
	expect("alltoall", client.StartAllToAll(c, ofAll, exchanged), exchanged, mine)

	total := numbers(me+1, size) // sends and receives may be the same
	combined("allreduce", client.StartAllReduce(c, client.Sum, total, total), total, p*(p+1)/2)
	most, greatest := numbers(0, size), 0
	if me == root {
		greatest = p - 1
	}
	combined("reduce", client.StartReduce(c, root, client.Max, numbers(me, size), most), most, greatest)
	prefix, before, share := numbers(0, size), numbers(0, size), numbers(0, size)
	combined("scan", client.StartScan(c, client.Sum, numbers(me+1, size), prefix), prefix, (me+1)*(me+2)/2)
	combined("exscan", client.StartExscan(c, client.Sum, numbers(me+1, size), before), before, me*(me+1)/2)
	combined("reduce-scatter", client.StartReduceScatter(c, client.Sum, slices.Repeat(numbers(me, size), p), share), share, p*(p-1)/2)

	left := make([]byte, size)
	expect("recv", client.StartRecv(c, (me+p-1)%p, 7, left), left, pattern((me+p-1)%p, me, size))
	expect("send", client.StartSend(c, (me+1)%p, 7, pattern(me, (me+1)%p, size)), nil, nil)
	expect("barrier", c.StartBarrier(), nil, nil)
	for _, x := range checks {
		if err := x.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// others does those that only wait.
func others(ctx context.Context, c *client.Comm, size int) error {
	p, me := c.Size(), c.Rank()
	// Who has the least value, and which?
	place := []client.Indexed[float64]{{Index: int64(me), Value: float64((me + 1) % p)}}
	if err := client.AllReduce(ctx, c, client.MinLoc, place, place); err != nil {
		return err
	}
	if place[0] != (client.Indexed[float64]{Index: int64(p - 1)}) {
		return fmt.Errorf("minloc: %+v", place[0])
	}
	// A function of the program, in the order of ranks.
	last := make([]int, 3)
	if err := client.AllReduceFunc(ctx, c, func(_, b int) int { return b }, []int{me, me, me}, last); err != nil {
		return err
	}
	if !slices.Equal(last, []int{p - 1, p - 1, p - 1}) {
		return fmt.Errorf("a function: %v", last)
	}
	// Parts of any lengths.
	parts, err := client.AllGatherv(ctx, c, pattern(me, 0, size*me/p))
	if err != nil {
		return err
	}
	for i, part := range parts {
		if !bytes.Equal(part, pattern(i, 0, size*i/p)) {
			return fmt.Errorf("allgatherv: a wrong part of %d", i)
		}
	}
	// A message of any length, once it is there.
	r := client.StartSend(c, (me+1)%p, 8, pattern(me, 0, me))
	seen, err := c.Probe(ctx, client.Any, 8)
	if err != nil {
		return err
	}
	data, m, err := client.RecvAlloc[byte](ctx, c, client.Any, 8)
	if err != nil {
		return err
	}
	if from := (me + p - 1) % p; m != seen || m.Source != from || !bytes.Equal(data, pattern(from, 0, from)) {
		return fmt.Errorf("a message of %d bytes from %d, where %+v was seen", m.Size, m.Source, seen)
	}
	return r.Wait(ctx)
}

// halves does the same over halves of the world, each the other way round.
func halves(ctx context.Context, job *client.Client, size int) error {
	half, err := job.World().Split(ctx, job.Rank()%2, -job.Rank())
	if err != nil {
		return err
	}
	if err := operations(ctx, half, size); err != nil {
		return fmt.Errorf("member %d of %d: %w", half.Rank(), half.Size(), err)
	}
	for i := range half.Size() {
		at, err := half.Locate(ctx, i)
		if err != nil {
			return err
		}
		if want := (job.Size()-1-job.Rank()%2)/2*2 + job.Rank()%2 - 2*i; at.Rank != want {
			return fmt.Errorf("member %d is rank %d, not %d", i, at.Rank, want)
		}
	}
	switch none, err := half.Split(ctx, -1, 0); {
	case err != nil:
		return fmt.Errorf("a split without a color: %w", err)
	case none != nil:
		return errors.New("a split without a color has a communicator")
	}
	return half.Free(ctx)
}

// board puts a key for each rank and reads those of the neighbors.
func board(ctx context.Context, job *client.Client) error {
	key := func(rank int) string { return fmt.Sprintf("tour-%d", rank%job.Size()) }
	value := func(rank int) []byte { return pattern(rank%job.Size(), 0, 16) }
	if err := job.Put(ctx, key(job.Rank()), value(job.Rank())); err != nil {
		return err
	}
	if err := job.Fence(ctx); err != nil {
		return err
	}
	for _, r := range []int{job.Rank() + 1, job.Rank() + job.Size() - 1} {
		got, found, err := job.Get(ctx, key(r))
		if err != nil {
			return fmt.Errorf("%s: %w", key(r), err)
		}
		if !found || !bytes.Equal(got, value(r)) {
			return fmt.Errorf("%s is %x (%v)", key(r), got, found)
		}
	}
	switch _, found, err := job.Get(ctx, "tour-none"); {
	case err != nil:
		return fmt.Errorf("a key that nobody put: %w", err)
	case found:
		return errors.New("found a key that nobody put")
	}
	// All of it, without asking.
	b, err := job.Board(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	for r := range job.Size() {
		if got, found := b.Get(key(r)); !found || !bytes.Equal(got, value(r)) {
			return fmt.Errorf("%s on the board is %x (%v)", key(r), got, found)
		}
	}
	if _, found := b.Get("tour-none"); found {
		return errors.New("the board has a key that nobody put")
	}
	return nil
}
