// Command tour shows every operation of package client: run it with
// "golaunch -n 8 tour". Each rank checks what it gets, and rank 0 says so. With
// an argument, messages and buffers have that many bytes for each rank.
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := tour(); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

// pattern is what rank src has for rank dst.
func pattern(src, dst, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(src*7 + dst*13 + i*3 + i>>8)
	}
	return b
}

func numbers(v int, size int) []byte {
	b := make([]byte, size/8*8)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(v))
	}
	return b
}

func tour() error {
	job, err := client.Open()
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
	if err := operations(world, size); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	// Halves, each the other way round.
	half, err := world.Split(job.Rank()%2, -job.Rank())
	if err != nil {
		return err
	}
	if err := operations(half, size); err != nil {
		return fmt.Errorf("rank %d, member %d of %d: %w", job.Rank(), half.Rank(), half.Size(), err)
	}
	for i := range half.Size() {
		at, err := half.Locate(i)
		if err != nil {
			return err
		}
		if want := (job.Size()-1-job.Rank()%2)/2*2 + job.Rank()%2 - 2*i; at.Rank != want {
			return fmt.Errorf("member %d is rank %d, not %d", i, at.Rank, want)
		}
	}
	switch none, err := half.Split(-1, 0); {
	case err != nil:
		return fmt.Errorf("a split without a color: %w", err)
	case none != nil:
		return errors.New("a split without a color has a communicator")
	}
	if err := half.Free(); err != nil {
		return err
	}
	if err := board(job); err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	if err := world.Barrier(); err != nil {
		return err
	}
	if job.Rank() == 0 {
		fmt.Printf("tour of %d ranks on %d nodes: ok\n", job.Size(), job.Nodes())
	}
	return nil
}

// operations does each once, several of them at the same time.
func operations(c *client.Comm, size int) error {
	p, me, root := c.Size(), c.Rank(), c.Size()/2
	var all, mine, ofAll []byte // from everyone for root; from everyone for me; from me for everyone
	for i := range p {
		all = append(all, pattern(i, root, size)...)
		mine = append(mine, pattern(i, me, size)...)
		ofAll = append(ofAll, pattern(me, i, size)...)
	}
	type check struct {
		what      string
		r         *client.Request
		got, want []byte
	}
	var checks []check
	add := func(what string, r *client.Request, got, want []byte) {
		checks = append(checks, check{what, r, got, want})
	}
	news := make([]byte, size)
	if me == root {
		copy(news, pattern(root, root, size))
	}
	add("bcast", c.StartBcast(root, news), news, pattern(root, root, size))
	gathered, wantGathered := []byte(nil), []byte(nil)
	if me == root {
		gathered, wantGathered = make([]byte, p*size), all
	}
	add("gather", c.StartGather(root, pattern(me, root, size), gathered), gathered, wantGathered)
	everywhere := make([]byte, p*size)
	add("allgather", c.StartAllGather(pattern(me, root, size), everywhere), everywhere, all)
	part := make([]byte, size)
	add("scatter", c.StartScatter(root, ofAll, part), part, pattern(root, me, size))
	exchanged := make([]byte, p*size)
	add("alltoall", c.StartAllToAll(ofAll, exchanged), exchanged, mine)
	total := numbers(0, size)
	add("allreduce", c.StartAllReduce(client.Int64, client.Sum, numbers(me+1, size), total), total, numbers(p*(p+1)/2, size))
	most, wantMost := numbers(0, size), numbers(p-1, size)
	if me != root {
		wantMost = most
	}
	add("reduce", c.StartReduce(root, client.Int64, client.Max, numbers(me, size), most), most, wantMost)
	prefix := numbers(0, size)
	add("scan", c.StartScan(client.Int64, client.Sum, numbers(me+1, size), prefix), prefix, numbers((me+1)*(me+2)/2, size))
	left := make([]byte, size)
	add("recv", c.StartRecv((me+p-1)%p, 7, left), left, pattern((me+p-1)%p, me, size))
	add("send", c.StartSend((me+1)%p, 7, pattern(me, (me+1)%p, size)), nil, nil)
	add("barrier", c.StartBarrier(), nil, nil)
	for _, x := range checks {
		if err := x.r.Wait(); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
		if !bytes.Equal(x.got, x.want) {
			return fmt.Errorf("%s: a wrong result", x.what)
		}
	}
	return nil
}

// board puts a key for each rank and reads those of the neighbors.
func board(job *client.Client) error {
	key := func(rank int) string { return fmt.Sprintf("tour-%d", rank%job.Size()) }
	if err := job.Put(key(job.Rank()), numbers(job.Rank(), 16)); err != nil {
		return err
	}
	if err := job.Fence(); err != nil {
		return err
	}
	for _, r := range []int{job.Rank() + 1, job.Rank() + job.Size() - 1} {
		value, found, err := job.Get(key(r))
		if err != nil {
			return fmt.Errorf("%s: %w", key(r), err)
		}
		if !found || !bytes.Equal(value, numbers(r%job.Size(), 16)) {
			return fmt.Errorf("%s is %x (%v)", key(r), value, found)
		}
	}
	switch _, found, err := job.Get("tour-none"); {
	case err != nil:
		return fmt.Errorf("what nobody put: %w", err)
	case found:
		return errors.New("what nobody put was found")
	}
	// All of it, without asking.
	b, err := job.Board()
	if err != nil {
		return err
	}
	defer b.Close()
	for r := range job.Size() {
		if value, found := b.Get(key(r)); !found || !bytes.Equal(value, numbers(r, 16)) {
			return fmt.Errorf("%s on the board is %x (%v)", key(r), value, found)
		}
	}
	if _, found := b.Get("tour-none"); found {
		return fmt.Errorf("what nobody put is on the board")
	}
	return nil
}
