package client_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/client"
)

// randomStep is an operation that all members of a communicator begin.
type randomStep struct {
	op    string
	half  bool // over the half of the world that a split made
	root  int  // modulo the members
	n     int  // elements of a part
	first bool // waited for before the next begins
}

var allOps = []string{"barrier", "bcast", "gather", "allgather", "scatter", "alltoall", "reduce", "allreduce", "float", "scan", "exscan", "reducescatter", "ring"}

// value is element i of what member src has for dst in a step.
func value(step, src, dst, i int) int { return step*1009 + src*31 + dst*17 + i }

func values(step, src, dst, n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = value(step, src, dst, i)
	}
	return v
}

// sums returns those of the values of members first to last-1 for member 0.
func sums(step, first, last, n int) []int {
	v := make([]int, n)
	for src := first; src < last; src++ {
		for i := range v {
			v[i] += value(step, src, 0, i)
		}
	}
	return v
}

// begin starts a step, and tells how to see whether it brought what it should.
func begin(c *client.Comm, number int, s randomStep) (r []*client.Request, ok func() bool) {
	p, me, root := c.Size(), c.Rank(), s.root%c.Size()
	mine := values(number, me, 0, s.n)
	concat := func(part func(i int) []int) (all []int) {
		for i := range p {
			all = append(all, part(i)...)
		}
		return all
	}
	got, want := make([]int, s.n), make([]int, s.n)
	one := func(q *client.Request) ([]*client.Request, func() bool) {
		return []*client.Request{q}, func() bool { return slices.Equal(got, want) }
	}
	switch s.op {
	case "bcast":
		if me == root {
			got = values(number, root, 0, s.n)
		}
		want = values(number, root, 0, s.n)
		return one(client.StartBcast(c, root, got))
	case "gather", "allgather":
		got, want = make([]int, p*s.n), concat(func(i int) []int { return values(number, i, 0, s.n) })
		if s.op == "allgather" {
			return one(client.StartAllGather(c, mine, got))
		}
		if me != root {
			got, want = nil, nil
		}
		return one(client.StartGather(c, root, mine, got))
	case "scatter":
		want = values(number, root, me, s.n)
		return one(client.StartScatter(c, root, concat(func(i int) []int { return values(number, me, i, s.n) }), got))
	case "alltoall":
		got, want = make([]int, p*s.n), concat(func(i int) []int { return values(number, i, me, s.n) })
		return one(client.StartAllToAll(c, concat(func(i int) []int { return values(number, me, i, s.n) }), got))
	case "reduce":
		if me == root {
			want = sums(number, 0, p, s.n)
		}
		return one(client.StartReduce(c, root, client.Sum, mine, got))
	case "allreduce": // in place
		got, want = mine, sums(number, 0, p, s.n)
		return one(client.StartAllReduce(c, client.Sum, mine, mine))
	case "float":
		floats := make([]float64, s.n)
		for i, v := range mine {
			floats[i] = float64(v)
		}
		r, _ := one(client.StartAllReduce(c, client.Sum, floats, floats))
		return r, func() bool {
			for i, v := range sums(number, 0, p, s.n) {
				if floats[i] != float64(v) {
					return false
				}
			}
			return true
		}
	case "scan":
		want = sums(number, 0, me+1, s.n)
		return one(client.StartScan(c, client.Sum, mine, got))
	case "exscan":
		want = sums(number, 0, me, s.n)
		return one(client.StartExscan(c, client.Sum, mine, got))
	case "reducescatter":
		whole := values(number, me, 0, p*s.n)
		want = sums(number, 0, p, p*s.n)[me*s.n:][:s.n]
		return one(client.StartReduceScatter(c, client.Sum, whole, got))
	case "ring":
		left := (me + p - 1) % p
		want = values(number, left, 0, s.n)
		recv := client.StartRecv(c, left, number, got)
		return []*client.Request{recv, client.StartSend(c, (me+1)%p, number, mine)}, func() bool { return slices.Equal(got, want) }
	}
	got, want = nil, nil
	return one(c.StartBarrier())
}

// run is one rank's part: all steps, overlapped, over the world and a split of it.
func run(ctx context.Context, c *client.Client, colors, keys []int, steps []randomStep) error {
	half, err := c.World().Split(ctx, colors[c.Rank()], keys[c.Rank()])
	if err != nil {
		return err
	}
	var waits []func() error
	for i, s := range steps {
		comm := c.World()
		if s.half {
			comm = half
		}
		requests, ok := begin(comm, i, s)
		wait := func() error {
			for _, r := range requests {
				if err := r.Wait(ctx); err != nil {
					return fmt.Errorf("step %d, %+v: %w", i, s, err)
				}
			}
			if !ok() {
				return fmt.Errorf("step %d, %+v: a wrong result", i, s)
			}
			return nil
		}
		if !s.first {
			waits = append(waits, wait)
		} else if err := wait(); err != nil {
			return err
		}
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			return err
		}
	}
	return half.Free(ctx)
}

// TestOverlappedOperations has all ranks carry out random operations at the same time,
// over the world and over random splits of it.
func TestOverlappedOperations(t *testing.T) {
	all := newCore(t).job()
	rapid.Check(t, func(rt *rapid.T) {
		colors := rapid.SliceOfN(rapid.IntRange(0, 2), ranks, ranks).Draw(rt, "colors")
		keys := rapid.SliceOfN(rapid.IntRange(-2, 2), ranks, ranks).Draw(rt, "keys")
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) randomStep {
			return randomStep{
				op:    rapid.SampledFrom(allOps).Draw(rt, "op"),
				half:  rapid.Bool().Draw(rt, "half"),
				root:  rapid.IntRange(0, ranks-1).Draw(rt, "root"),
				n:     rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(0, 3000), rapid.IntRange(9000, 20_000)).Draw(rt, "elements"),
				first: rapid.IntRange(0, 5).Draw(rt, "wait") == 0,
			}
		}), 1, 30).Draw(rt, "steps")
		each(t, all, func(c *client.Client) error { return run(t.Context(), c, colors, keys, steps) })
	})
}
