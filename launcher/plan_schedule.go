package launcher

import (
	"cmp"
	"context"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/algorithms"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/tree/record"
)

// Bounds of the schedules for programs of a job.
const (
	mostScheduled = 1 << 16 // ranks
	mostArranged  = 1 << 12 // ranks, of algorithms that know the network
	mostMessages  = 1 << 22
)

// rankPlan is a schedule by rank.
type rankPlan struct {
	stages int
	parts  [][]byte // the messages of each rank (record.AppendScheduled)
	bytes  int      // of all parts
}

// schedule makes a schedule for all ranks of the world, where they are. It ends early
// with ctx.
func (p *Plan) schedule(ctx context.Context, network *Network, want overlay.Schedule) (made rankPlan, err error) {
	a, err := algorithms.Find(want.Algorithm)
	if err != nil {
		return made, err
	}
	most := mostScheduled
	if a.Network {
		most = mostArranged
	}
	if p.Size > most {
		return made, fmt.Errorf("%s: the world has %d ranks; schedules of it are made for at most %d", a.Name, p.Size, most)
	}
	var n *netsim.Network
	if a.Network && network != nil {
		if n, err = p.ranksIn(network); err != nil {
			return made, fmt.Errorf("%s: network %s: %w", a.Name, network.From, err)
		}
	}
	s, err := algorithms.Schedule(a, p.Size, n, want.Bytes)
	if err != nil {
		return made, err
	}
	if made, err = byRank(ctx, s, p.Size); err != nil {
		return made, fmt.Errorf("%s of %d ranks: %w", a.Name, p.Size, err)
	}
	return made, nil
}

// ranksIn puts each rank on its host of a network.
func (p *Plan) ranksIn(network *Network) (*netsim.Network, error) {
	hosts := make([]job.Host, 0, len(p.Blocks))
	nodes := map[job.HostIndex]topology.Node{}
	for _, h := range p.Blocks.hosts() {
		hosts = append(hosts, p.Hosts[h])
	}
	found, err := network.Nodes(hosts)
	if err != nil {
		return nil, err
	}
	for i, h := range p.Blocks.hosts() {
		nodes[h] = found[i]
	}
	order := make([]topology.Node, 0, p.Size)
	for _, b := range p.Blocks {
		for range b.Count {
			order = append(order, nodes[b.Host])
		}
	}
	return netsim.New(network.Router, order)
}

// byRank splits a schedule into the parts of its ranks.
func byRank(ctx context.Context, s netsim.Schedule, ranks int) (rankPlan, error) {
	if s.Stages > record.MaxStages {
		return rankPlan{}, fmt.Errorf("it has %d stages; ranks are told of at most %d", s.Stages, record.MaxStages)
	}
	made := rankPlan{stages: s.Stages, parts: make([][]byte, ranks)}
	last := make([]int, ranks)
	tell := func(rank int32, m record.ScheduledMessage) error {
		part := record.AppendScheduled(made.parts[rank], last[rank], m)
		made.bytes += len(part) - len(made.parts[rank])
		made.parts[rank], last[rank] = part, m.Stage
		if len(part) > record.MaxBody {
			return fmt.Errorf("what rank %d sends and receives takes more than the %d KiB that it can be told", rank, record.MaxBody>>10)
		}
		return nil
	}
	var messages []netsim.Message
	total := 0
	for stage := range s.Stages {
		if err := ctx.Err(); err != nil {
			return rankPlan{}, err
		}
		messages = s.Append(messages[:0], stage)
		if total += len(messages); total > mostMessages {
			return rankPlan{}, fmt.Errorf("it has more than %d messages; ranks are not told of so many", mostMessages)
		}
		for _, m := range messages {
			err := cmp.Or(
				tell(m.From, record.ScheduledMessage{Stage: stage, Peer: int(m.To), Bytes: m.Size}),
				tell(m.To, record.ScheduledMessage{Stage: stage, Peer: int(m.From), Received: true, Bytes: m.Size}),
			)
			if err != nil {
				return rankPlan{}, err
			}
		}
	}
	return made, nil
}
