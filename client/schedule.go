package client

import (
	"context"

	"github.com/golaunch/golaunch/tree/member"
)

// ScheduledMessage is a message of a schedule, as one of the two ranks that have part
// in it is told of it.
type ScheduledMessage struct {
	Peer     int  // the other rank of the world
	Received bool // from the peer; else it is sent to it
	Bytes    int64
}

// Schedule asks for the schedule of a collective operation among all ranks of the
// world, where they are, and returns this rank's messages, stage by stage: a rank goes
// on to the next stage when it has done all of its messages in this one. The algorithm
// is one of "golaunch netsim list"; bytes are of each message of a sequence, of each
// block of an all-to-all, of a rank's part in a gather, scatter, allgather or
// reduce-scatter, and else of all that there is. The launcher makes the schedule once;
// an algorithm that depends on the network takes that of golaunch --topology. A message
// to this rank itself, a copy, is there twice, sent and received. docs/client.md has
// the bounds. The result is the caller's.
func (c *Client) Schedule(ctx context.Context, algorithm string, bytes int64) ([][]ScheduledMessage, error) {
	r, err := c.call(ctx, "a schedule", func() *member.Request { return c.session.Schedule(algorithm, bytes) })
	if err != nil {
		return nil, err
	}
	count, part := r.Scheduled()
	stages := make([][]ScheduledMessage, count)
	for _, m := range part {
		stages[m.Stage] = append(stages[m.Stage], ScheduledMessage{Peer: m.Peer, Received: m.Received, Bytes: m.Bytes})
	}
	return stages, nil
}
