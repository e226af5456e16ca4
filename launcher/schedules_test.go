package launcher

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/algorithms"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/record"
)

// messagesOf lists the messages that all ranks are told of, as their senders or
// receivers.
func messagesOf(t *testing.T, made rankPlan, received bool) (list []string) {
	bytes := 0
	for rank, part := range made.parts {
		bytes += len(part)
		messages, err := record.ParseScheduled(part, int64(made.stages), len(made.parts))
		require.NoError(t, err)
		for _, m := range messages {
			from, to := rank, m.Peer
			if m.Received {
				from, to = to, from
			}
			if m.Received == received {
				list = append(list, fmt.Sprintf("%d: %d to %d, %d bytes", m.Stage, from, to, m.Bytes))
			}
		}
	}
	require.Equal(t, bytes, made.bytes)
	slices.Sort(list)
	return list
}

// Ranks are told, from both sides, each algorithm's whole schedule, with several ranks
// on a host and hosts in any order.
func TestScheduleByRank(t *testing.T) {
	o := options(t, "h3:2,h1:2,h0:2,h2:2", 8)
	o.Hosts.Network = networkOf(t, "fattree:2,2/1,2/1,1", "")
	p, err := NewPlan(o, "here")
	require.NoError(t, err)
	n, err := p.ranksIn(o.Hosts.Network)
	require.NoError(t, err)
	require.Equal(t, 8, n.Ranks())
	for rank := range int32(8) {
		require.Equal(t, p.Hosts[job.BlockOf(p.Blocks, job.Rank(rank)).Host].Name, n.Graph().Name(n.Host(rank)))
	}
	made := 0
	for _, a := range algorithms.All() {
		got, err := p.schedule(t.Context(), o.Hosts.Network, overlay.Schedule{Algorithm: a.Name, Bytes: 1 << 10})
		s, other := algorithms.Schedule(&a, 8, n, 1<<10)
		require.Equal(t, other == nil, err == nil, "%s: %v", a.Name, err)
		if err != nil {
			continue
		}
		var want []string
		for stage := range s.Stages {
			for _, m := range s.Append(nil, stage) {
				want = append(want, fmt.Sprintf("%d: %d to %d, %d bytes", stage, m.From, m.To, m.Size))
			}
		}
		slices.Sort(want)
		require.Equal(t, s.Stages, got.stages)
		require.Equal(t, want, messagesOf(t, got, false), a.Name)
		require.Equal(t, want, messagesOf(t, got, true), a.Name)
		made++
	}
	require.Greater(t, made, 40)
}

// A refused schedule has its reason.
func TestScheduleRefuses(t *testing.T) {
	one, err := NewPlan(options(t, "h0,far", 2), "here")
	require.NoError(t, err)
	huge, large, net := *one, *one, networkOf(t, "torus:4", "")
	huge.Size, large.Size = 1<<16+1, 1<<12+1
	for _, x := range []struct {
		plan    *Plan
		network *Network
		want    overlay.Schedule
		err     string
	}{
		{one, nil, overlay.Schedule{Algorithm: "\x1b[2J"}, `"\x1b[2J" is no algorithm that it knows; see golaunch netsim list`},
		{one, nil, overlay.Schedule{Algorithm: "alltoall/tacs1", Bytes: 8}, "alltoall/tacs1 depends on the network: say which, with --topology"},
		{one, net, overlay.Schedule{Algorithm: "alltoall/tacs1", Bytes: 8}, "alltoall/tacs1: network torus:4: not in the network: far; a map file can say which they are"},
		{&huge, nil, overlay.Schedule{Algorithm: "binomial", Bytes: 8}, "binomial: the world has 65537 ranks; schedules of it are made for at most 65536"},
		{&large, net, overlay.Schedule{Algorithm: "alltoall/tacs1", Bytes: 8}, "alltoall/tacs1: the world has 4097 ranks; schedules of it are made for at most 4096"},
		{&large, nil, overlay.Schedule{Algorithm: "alltoall/pairwise", Bytes: 8}, "alltoall/pairwise of 4097 ranks: it has more than 4194304 messages; ranks are not told of so many"},
		{&large, nil, overlay.Schedule{Algorithm: "ring", Bytes: 1 << 40}, "4097 ranks of 1099511627776 bytes: there may be 0 bytes to 1 TiB in all"},
	} {
		_, err := x.plan.schedule(t.Context(), x.network, x.want)
		require.EqualError(t, err, x.err)
	}
	_, err = byRank(t.Context(), netsim.Schedule{Name: "long", Stages: record.MaxStages + 1}, 2)
	require.EqualError(t, err, "it has 262145 stages; ranks are told of at most 262144")
	one0 := netsim.Schedule{Name: "one", Stages: 1, Append: func(m []netsim.Message, _ int) []netsim.Message {
		return append(m, slices.Repeat([]netsim.Message{{From: 0, To: 1, Size: 8}}, 1<<16+1)...)
	}}
	_, err = byRank(t.Context(), one0, 2)
	require.EqualError(t, err, "what rank 0 sends and receives takes more than the 192 KiB that it can be told")
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = byRank(ended, one0, 2)
	require.ErrorIs(t, err, context.Canceled)
}

// planning is a run whose agent asks for schedules.
func planning(t *testing.T) (*testRun, link.Link) {
	r, agent := launchedRun(t)
	r.up()
	_, err := agent.Recv(link.Service) // its range
	require.NoError(t, err)
	return r, agent
}

// settle handles events until everything asked for is made.
func settle(r *testRun) {
	for len(r.schedules.queue) > 0 {
		<-r.agents.Woken()
		for _, e := range r.agents.Take(nil) {
			r.handle(e)
		}
	}
}

// answers are the next so many of the launcher.
func answers(t *testing.T, agent link.Link, n int) (list []overlay.ScheduleAnswer) {
	for range n {
		frame, err := agent.Recv(link.Service)
		require.NoError(t, err)
		h, body, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		require.Equal(t, overlay.KindScheduled, h.Kind)
		a, err := overlay.Decode[overlay.ScheduleAnswer](body)
		require.NoError(t, err)
		list = append(list, a)
	}
	return list
}

// A schedule is made once, and told to all nodes that ask for it, with the parts of
// their ranks.
func TestSchedulesAreMadeOnce(t *testing.T) {
	r, agent := planning(t)
	want := overlay.Schedule{Algorithm: "ring", Bytes: 8}
	hear(t, r, agent, link.Service, overlay.KindSchedule, overlay.ScheduleRequest{Schedule: want})
	r.schedules.serve(overlay.ScheduleRequest{Schedule: want}) // it is asked for already, and may be made
	settle(r)
	made := r.schedules.known[want]
	require.NotNil(t, made)
	r.schedules.serve(overlay.ScheduleRequest{Schedule: want})
	require.Same(t, made, r.schedules.known[want])
	require.Empty(t, r.schedules.queue)
	for _, a := range answers(t, agent, 2) {
		require.Equal(t, overlay.ScheduleAnswer{Schedule: want, Stages: 1, Parts: made.made.parts}, a)
		require.Len(t, a.Parts, 2)
	}
	r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{Algorithm: "nonsense"}})
	settle(r)
	require.Equal(t, `"nonsense" is no algorithm that it knows; see golaunch netsim list`, answers(t, agent, 1)[0].Failure)
}

// A node that asks for more at a time than agents do gets no answer to the rest.
func TestTooManySchedules(t *testing.T) {
	r, agent := planning(t)
	for i := range 3 * overlay.MostSchedules {
		r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{Algorithm: "ring", Bytes: int64(i)}})
	}
	require.Len(t, r.schedules.queue, overlay.MostSchedules)
	settle(r)
	for i, a := range answers(t, agent, overlay.MostSchedules) {
		require.Equal(t, int64(i), a.Schedule.Bytes)
	}
	require.Len(t, r.schedules.known, overlay.MostSchedules)
}

// Schedules kept are bounded, in number and in bytes, and those of a world that is over
// are forgotten, made or not.
func TestSchedulesAreForgotten(t *testing.T) {
	r, agent := planning(t)
	for i := range 2 * mostSchedulesKept {
		r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{Algorithm: "ring", Bytes: int64(i)}})
		settle(r)
		answers(t, agent, 1)
		require.LessOrEqual(t, len(r.schedules.known), mostSchedulesKept+1)
		require.Contains(t, r.schedules.known, overlay.Schedule{Algorithm: "ring", Bytes: int64(i)})
	}
	r.schedules.bytes += mostSchedulesBytes
	r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{Algorithm: "shift", Bytes: 8}})
	settle(r)
	require.Len(t, r.schedules.known, 1)
	r.schedules.bytes -= mostSchedulesBytes
	kept := r.schedules.known[overlay.Schedule{Algorithm: "shift", Bytes: 8}]
	require.Equal(t, kept.made.bytes, r.schedules.bytes)

	r.worlds.all[1] = &world{plan: r.plan, started: true, done: true, drained: true}
	for i := range 3 {
		r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{World: 1, Algorithm: "ring", Bytes: int64(i)}})
	}
	r.worlds.forget(1, r.worlds.all[1])
	settle(r)
	require.Len(t, r.schedules.known, 1)
	require.Equal(t, kept.made.bytes, r.schedules.bytes)
	r.schedules.serve(overlay.ScheduleRequest{Schedule: overlay.Schedule{World: 1, Algorithm: "ring"}})
	require.Empty(t, r.schedules.queue, "the world is over")
}

// Whatever a rank asks for, there is a schedule or a reason.
func TestAnyScheduleIsMadeOrRefused(t *testing.T) {
	for _, word := range []string{"torus:3x3", "fattree:3,3/1,3/1,1"} {
		for _, ranks := range []int{1, 2, 3, 7, 9} {
			o := options(t, "h0,h1,h2,h3,h4,h5,h6,h7,h8", ranks)
			o.Hosts.Network = networkOf(t, word, "")
			p, err := NewPlan(o, "here")
			require.NoError(t, err)
			for _, name := range algorithms.Names() {
				for _, bytes := range []int64{0, 1, 1000, (1 << 40) / int64(ranks)} {
					made, err := p.schedule(t.Context(), o.Hosts.Network, overlay.Schedule{Algorithm: name, Bytes: bytes})
					if err == nil {
						require.Equal(t, messagesOf(t, made, true), messagesOf(t, made, false), "%s of %d ranks, %d bytes", name, ranks, bytes)
					}
				}
			}
		}
	}
}
