// Command schedule has ranks ask for a schedule of their job and carry it out: run it
// with "golaunch --topology FILE -f hosts schedule alltoall/tacs1 64". In each stage a
// rank sends and receives the messages of the schedule, whose content is bytes alone.
// Rank 0 prints the messages of all:
//
//	alltoall/tacs1 64: 7 stages, 56 messages, 3584 bytes
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: schedule ALGORITHM BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	stages, err := job.Schedule(ctx, args[0], size)
	if err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	var sum [2]int64 // messages, bytes
	for stage, list := range stages {
		if err := carryOut(ctx, job.World(), stage, list); err != nil {
			return fmt.Errorf("rank %d: stage %d: %w", job.Rank(), stage, err)
		}
		for _, m := range list {
			if !m.Received {
				sum[0], sum[1] = sum[0]+1, sum[1]+m.Bytes
			}
		}
	}
	if err := client.AllReduce(ctx, job.World(), client.Sum, sum[:], sum[:]); err != nil {
		return err
	}
	if job.Rank() == 0 {
		fmt.Printf("%s %d: %d stages, %d messages, %d bytes\n", args[0], size, len(stages), sum[0], sum[1])
	}
	return nil
}

// carryOut does the messages of one stage, all at once.
func carryOut(ctx context.Context, world *client.Comm, stage int, list []client.ScheduledMessage) error {
	requests := make([]*client.Request, len(list))
	said := make([][]int64, len(list))
	for i, m := range list {
		if said[i] = make([]int64, 1); m.Received {
			requests[i] = client.StartRecv(world, m.Peer, stage, said[i])
			continue
		}
		said[i][0] = m.Bytes
		requests[i] = client.StartSend(world, m.Peer, stage, said[i])
	}
	for i, r := range requests {
		if err := r.Wait(ctx); err != nil {
			return err
		}
		if got := said[i][0]; got != list[i].Bytes {
			return fmt.Errorf("rank %d sends %d bytes, not %d", list[i].Peer, got, list[i].Bytes)
		}
	}
	return nil
}
