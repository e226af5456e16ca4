// Command star is the rival of the tree in collbench: a TCP connection from each rank
// to rank 0, over which all data go there and back, one rank after the other, in the
// clear. golaunch starts it; over the tree the ranks learn the address of rank 0, and
// the others' times.
//
//	star SECONDS BYTES   for each operation and size; at most so many bytes
//
// Rank 0 prints lines as in native/programs/collbench.h.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "star:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: star SECONDS BYTES")
	}
	budget, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return err
	}
	most, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	s, err := connect(ctx, job)
	if err != nil {
		return err
	}
	return measure(ctx, job, s, budget, max(most, sizes[0]))
}

// sizes are those of native/programs/collbench.h, in its order.
var sizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 10 << 20, 64 << 20}

// Operations without a size, or with one alone.
const (
	barrier = "barrier"
	stream  = "stream"
)

// operation is one that is measured. b is a rank's part, into has room for one of another.
type operation struct {
	name string
	do   func(s *star, b, into []byte) error
}

var operations = []operation{
	{barrier, func(s *star, b, into []byte) error { return s.allReduce(b[:1], into[:1], func(int, []byte) {}) }},
	{"bcast", func(s *star, b, _ []byte) error { return s.down(b) }},
	{"reduce", func(s *star, b, into []byte) error { return s.up(b, into, adder(b)) }},
	{"allreduce", func(s *star, b, into []byte) error { return s.allReduce(b, into, adder(b)) }},
	{stream, func(s *star, b, _ []byte) error { return s.stream(b) }},
	{"pingpong", func(s *star, b, _ []byte) error { return s.pingPong(b) }},
}

func (s *star) allReduce(b, into []byte, take func(int, []byte)) error {
	if err := s.up(b, into, take); err != nil {
		return err
	}
	return s.down(b)
}

// adder returns a function that adds parts to sum, as float64s.
func adder(sum []byte) func(int, []byte) {
	return func(_ int, part []byte) {
		le := binary.LittleEndian
		for to := sum; len(to) >= 8 && len(part) >= 8; to, part = to[8:], part[8:] {
			le.PutUint64(to, math.Float64bits(math.Float64frombits(le.Uint64(to))+math.Float64frombits(le.Uint64(part))))
		}
	}
}

// measure times all operations at all sizes, of at most a number of bytes.
func measure(ctx context.Context, job *client.Client, s *star, budget float64, most int) error {
	mine, into := make([]byte, most), make([]byte, most)
	for i, size := range sizes {
		for _, op := range operations {
			if size > most || (op.name == barrier || op.name == stream) && i > 0 {
				continue
			}
			once, err := timed(ctx, job, 1, func() error { return op.do(s, mine[:size], into[:size]) })
			if err != nil {
				return err
			}
			rounds := min(500, int(budget/once)+1)
			if once, err = timed(ctx, job, rounds, func() error { return op.do(s, mine[:size], into[:size]) }); err != nil {
				return err
			}
			if s.rank == 0 {
				bytes := size
				if op.name == barrier {
					bytes = 0
				}
				fmt.Printf("star %s %d %d %.1f\n", op.name, bytes, rounds, once*1e6)
			}
		}
	}
	return nil
}

// timed returns the seconds of one of some rounds on the slowest rank.
func timed(ctx context.Context, job *client.Client, rounds int, do func() error) (float64, error) {
	if err := job.World().Barrier(ctx); err != nil {
		return 0, err
	}
	begin := time.Now()
	for range rounds {
		if err := do(); err != nil {
			return 0, err
		}
	}
	seconds := []float64{time.Since(begin).Seconds() / float64(rounds)}
	err := client.AllReduce(ctx, job.World(), client.Max, seconds, seconds)
	return seconds[0], err
}
