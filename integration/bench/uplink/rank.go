package uplink

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/client"
)

// operation is one that is measured.
type operation struct {
	name   string
	size   int // bytes of a rank's part, or for each other rank; of a broadcast all
	rounds int
	do     func(ctx context.Context, w *client.Comm, mine, all, rest []byte) error
}

// operations returns the table of them.
func operations() []operation {
	bcast := func(ctx context.Context, w *client.Comm, mine, _, _ []byte) error {
		return client.Bcast(ctx, w, 0, mine)
	}
	gather := func(ctx context.Context, w *client.Comm, mine, all, _ []byte) error {
		return client.Gather(ctx, w, 0, mine, all)
	}
	allToAll := func(ctx context.Context, w *client.Comm, _, all, rest []byte) error {
		return client.AllToAll(ctx, w, all, rest)
	}
	return []operation{
		{"broadcast", 1 << 10, 200, bcast},
		{"broadcast", 1 << 20, 5, bcast},
		{"gather", 1 << 10, 200, gather},
		{"gather", 64 << 10, 5, gather},
		{"all-to-all", 128, 100, allToAll},
		{"all-to-all", 8 << 10, 5, allToAll},
	}
}

// rank carries out all operations, in step with the program that started the job.
func rank(ctx context.Context) error {
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	w, in := job.World(), bufio.NewScanner(os.Stdin)
	say := func(line string) error {
		if w.Rank() != 0 {
			return nil
		}
		fmt.Println(line)
		if !in.Scan() {
			return fmt.Errorf("standard input ended")
		}
		return nil
	}
	for _, o := range operations() {
		mine, all, rest := make([]byte, o.size), make([]byte, o.size*w.Size()), make([]byte, o.size*w.Size())
		once := func() error { return o.do(ctx, w, mine, all, rest) }
		seconds, err := timed(ctx, w, o.rounds, once, func() error { return say("ready") })
		if err == nil {
			err = say(fmt.Sprint("seconds ", seconds))
		}
		if err == nil {
			err = w.Barrier(ctx) // nobody begins the next one before it is counted
		}
		if err != nil {
			return fmt.Errorf("rank %d: %s of %d bytes: %w", w.Rank(), o.name, o.size, err)
		}
	}
	return nil
}

// timed returns the seconds of an operation on the slowest rank, the mean of some
// rounds. The first round is not counted; ready is called before the others.
func timed(ctx context.Context, w *client.Comm, rounds int, once, ready func() error) (float64, error) {
	for _, step := range []func() error{once, ready, func() error { return w.Barrier(ctx) }} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	begin := time.Now()
	for range rounds {
		if err := once(); err != nil {
			return 0, err
		}
	}
	took := []time.Duration{time.Since(begin)}
	if err := client.AllReduce(ctx, w, client.Max, took, took); err != nil {
		return 0, err
	}
	return took[0].Seconds() / float64(rounds), nil
}
