// Command withc does in Go what native/programs/treemore.c does in C, so that ranks of
// both share a job: "golaunch -n 4 withc : -n 4 treemore". Both build operations that
// are made of several of the same ones. Each rank checks its results, of as many
// numbers as an argument says (10) where lengths are free. The last rank leaves at the
// end, and the others go on without it; rank 0 says that all is well.
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
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "withc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	n := 10
	if len(os.Args) > 1 {
		var err error
		if n, err = strconv.Atoi(os.Args[1]); err != nil {
			return err
		}
	}
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	world := job.World()
	for _, do := range []func(context.Context, *client.Comm, int) error{reductions, functions, parts, message, half, leave} {
		if err := do(ctx, world, n); err != nil {
			return fmt.Errorf("rank %d: %w", job.Rank(), err)
		}
	}
	if job.Rank() == 0 {
		fmt.Printf("%d ranks on %d nodes, without the last: ok\n", job.Size(), job.Nodes())
	}
	return nil
}

// equal is an error unless each of got is want.
func equal[T comparable](what string, got []T, want T) error {
	for i, x := range got {
		if x != want {
			return fmt.Errorf("%s: number %d is %v, not %v", what, i, x, want)
		}
	}
	return nil
}

func reductions(ctx context.Context, c *client.Comm, n int) error {
	p, r := c.Size(), c.Rank()
	mine, before, prefix := slices.Repeat([]float64{float64(r + 1)}, n), slices.Repeat([]float64{-1}, n), make([]float64, n)
	all, part := make([]int64, n*p), make([]int64, n)
	for i := range all {
		all[i] = int64(r + i/n)
	}
	begun := []*client.Request{
		client.StartExscan(c, client.Sum, mine, before),
		client.StartScan(c, client.Sum, mine, prefix),
		client.StartReduceScatter(c, client.Sum, all, part),
	}
	for _, q := range begun {
		if err := q.Wait(ctx); err != nil {
			return err
		}
	}
	first := float64(r * (r + 1) / 2)
	if r == 0 {
		first = -1 // it has nothing before it
	}
	err := errors.Join(equal("exscan", before, first), equal("scan", prefix, float64((r+1)*(r+2)/2)),
		equal("reduce-scatter", part, int64(p*(p-1)/2+p*r)))
	if err != nil {
		return err
	}
	if err := client.Exscan(ctx, c, client.Max, mine, mine); err != nil {
		return err
	}
	if err := client.ReduceScatter(ctx, c, client.Max, all, part); err != nil {
		return err
	}
	least := []client.Indexed[float64]{{Index: int64(r), Value: float64((r + 1) % p)}}
	if err := client.AllReduce(ctx, c, client.MinLoc, least, least); err != nil {
		return err
	}
	most := []client.Indexed[int32]{{Index: int64(r), Value: int32(r / 2)}}
	if err := client.Scan(ctx, c, client.MaxLoc, most, most); err != nil {
		return err
	}
	return errors.Join(equal("exscan in place", mine, float64(max(r, 1))), equal("greatest reduce-scatter", part, int64(p-1+r)),
		equal("minloc", least, client.Indexed[float64]{Index: int64(p - 1)}),
		equal("scan of places", most, client.Indexed[int32]{Index: int64(r / 2 * 2), Value: int32(r / 2)}))
}

// functions reduces by appending a digit.
func functions(ctx context.Context, c *client.Comm, n int) error {
	const base = 7
	p, r, root, want := c.Size(), c.Rank(), c.Size()/2, int64(0)
	for i := range p {
		want = want*base + int64(i%base)
	}
	digits := func(sum, next int64) int64 { return sum*base + next }
	mine, out := slices.Repeat([]int64{int64(r % base)}, n), make([]int64, n)
	if err := client.ReduceFunc(ctx, c, root, digits, mine, out); err != nil {
		return err
	}
	if err := client.AllReduceFunc(ctx, c, digits, mine, mine); err != nil {
		return err
	}
	if r == root {
		mine = append(mine, out...)
	}
	return equal("a function", mine, want)
}

// parts gathers parts of nearly the same lengths, and one that only the last rank has.
func parts(ctx context.Context, c *client.Comm, n int) error {
	p, root := c.Size(), c.Size()/2
	ways := []func(rank int) int{
		func(rank int) int { return n + rank },
		func(rank int) int { return 20 * n * ((rank + 1) / p) },
	}
	for _, length := range ways {
		of := func(rank int) []int32 {
			part := make([]int32, length(rank))
			for i := range part {
				part[i] = int32(rank*1000 + i%1000)
			}
			return part
		}
		there, err := client.Gatherv(ctx, c, root, of(c.Rank()))
		if err != nil {
			return err
		}
		everywhere, err := client.AllGatherv(ctx, c, of(c.Rank()))
		if err != nil {
			return err
		}
		for rank := range p {
			if !slices.Equal(everywhere[rank], of(rank)) || c.Rank() == root && !slices.Equal(there[rank], of(rank)) {
				return fmt.Errorf("gatherv: a wrong part of %d", rank)
			}
		}
	}
	return nil
}

// message sends one around, of a length that the other side does not know.
func message(ctx context.Context, c *client.Comm, n int) error {
	p, r, size := c.Size(), c.Rank(), 8*n
	left := (r + p - 1) % p
	of := func(rank int) []byte { return bytes.Repeat([]byte{'a' + byte(rank%26)}, size) }
	sent := client.StartSend(c, (r+1)%p, 8, of(r))
	seen, err := c.Probe(ctx, client.Any, 8)
	if err != nil {
		return err
	}
	again, found, err := c.TryProbe(ctx, left, client.Any)
	if err != nil {
		return err
	}
	data, got, err := client.RecvAlloc[byte](ctx, c, seen.Source, seen.Tag)
	if err != nil {
		return err
	}
	if want := (client.Message{Source: left, Tag: 8, Size: size}); !found || seen != want || again != want || got != want || !bytes.Equal(data, of(left)) {
		return fmt.Errorf("a message: %+v was seen, %+v got", seen, got)
	}
	if _, found, err := c.TryProbe(ctx, left, 8); err != nil || found {
		return fmt.Errorf("a second message (%v): %w", found, err)
	}
	return sent.Wait(ctx)
}

func half(ctx context.Context, c *client.Comm, _ int) error {
	half, err := c.Split(ctx, c.Rank()%2, 0)
	if err != nil {
		return err
	}
	if err := reductions(ctx, half, 2); err != nil {
		return fmt.Errorf("half: %w", err)
	}
	return half.Free(ctx)
}

// leave has the last rank go, and the others go on.
func leave(ctx context.Context, c *client.Comm, n int) error {
	same, err := c.Shrink(ctx)
	if err != nil || c.Rank() == c.Size()-1 {
		return err
	}
	rest, err := same.Shrink(ctx)
	if err != nil {
		return err
	}
	if rest.Size() != c.Size()-1 || rest.Rank() != c.Rank() {
		return fmt.Errorf("shrink: member %d of %d", rest.Rank(), rest.Size())
	}
	return reductions(ctx, rest, n)
}
