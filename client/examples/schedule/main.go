// Command schedule has ranks ask for a schedule of their job and carry it out: run it
// with "golaunch --topology FILE -f hosts schedule alltoall/tacs1 64". In each stage a
// rank sends what it is told to, as a message that has the bytes alone, and receives
// what it is told to. Rank 0 prints what all have sent:
//
//	alltoall/tacs1 64: 7 stages, 56 messages, 3584 bytes
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/golaunch/golaunch/client"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: schedule ALGORITHM BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	job, err := client.Open()
	if err != nil {
		return err
	}
	defer job.Close()
	stages, err := job.Schedule(args[0], size)
	if err != nil {
		return fmt.Errorf("rank %d: %w", job.Rank(), err)
	}
	var messages, bytes uint64
	for stage, list := range stages {
		if err := carryOut(job.World(), stage, list); err != nil {
			return fmt.Errorf("rank %d: stage %d: %w", job.Rank(), stage, err)
		}
		for _, m := range list {
			if !m.Received {
				messages, bytes = messages+1, bytes+uint64(m.Bytes)
			}
		}
	}
	sum := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, messages), bytes)
	if err := job.World().AllReduce(client.Uint64, client.Sum, sum, sum); err != nil {
		return err
	}
	if job.Rank() == 0 {
		fmt.Printf("%s %d: %d stages, %d messages, %d bytes\n", args[0], size, len(stages), binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:]))
	}
	return nil
}

// carryOut does the messages of one stage, all at once.
func carryOut(world *client.Comm, stage int, list []client.ScheduledMessage) error {
	requests := make([]*client.Request, len(list))
	said := make([][]byte, len(list))
	for i, m := range list {
		if said[i] = make([]byte, 8); m.Received {
			requests[i] = world.StartRecv(m.Peer, stage, said[i])
			continue
		}
		binary.LittleEndian.PutUint64(said[i], uint64(m.Bytes))
		requests[i] = world.StartSend(m.Peer, stage, said[i])
	}
	for i, r := range requests {
		if err := r.Wait(); err != nil {
			return err
		}
		if got := int64(binary.LittleEndian.Uint64(said[i])); got != list[i].Bytes {
			return fmt.Errorf("rank %d sends %d bytes, not %d", list[i].Peer, got, list[i].Bytes)
		}
	}
	return nil
}
