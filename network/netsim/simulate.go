package netsim

import (
	"errors"
	"fmt"
	"math"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Progress has the rules by which ranks go from stage to stage, and the traffic beside
// them.
type Progress struct {
	// Barrier has all ranks begin a stage together, when the last message of the
	// stage before has arrived. Else each begins its next stage when its own
	// messages of the stage have been sent and received.
	Barrier bool
	// Background is carried out at the same time, over and over until the schedule
	// is done.
	Background *Background
	// Work bounds the steps of the simulation, some ten million a second: whenever
	// rates change, the links of the flows that it may matter to. 0 is no bound.
	Work int64
}

// ErrWork is Simulate's error where Progress.Work does not suffice.
var ErrWork = errors.New("the simulation takes too long")

// Background is other traffic of the network, of the same ranks or others. Its
// Network has the same Graph.
type Background struct {
	Network  *Network
	Schedule Schedule
}

// Timing has the times of a schedule.
type Timing struct {
	Seconds float64
	Ended   []float64 // by stage: when the last of its messages arrived, in seconds from the beginning
	Rounds  int       // complete runs of the background
}

// Simulate lets the messages of a schedule flow. A rank begins the messages that
// it sends in a stage one start-up after the other, whether or not their receivers
// have come to the stage. A message then takes all links of its route at once;
// messages that share links share their rates max–min fairly. One between ranks of
// a host takes its start-up alone.
//
// The time is never below that of the busiest link for its bytes, nor, with barriers,
// the sum of that over the stages. The error is that of a message which is not between
// ranks, or has no route, or ErrWork.
func Simulate(n *Network, s Schedule, c Costs, by Progress) (*Timing, error) {
	main, err := newPlay(n, s, by.Barrier)
	if err != nil {
		return nil, err
	}
	sim := &simulation{plays: []*play{main}, startup: c.Startup, shares: newShares(c.rates(n)), limited: c.Inject > 0}
	t := &Timing{}
	if b := by.Background; b != nil {
		if b.Network.Graph() != n.Graph() {
			return nil, errors.New("the background is on another network")
		}
		back, err := newPlay(b.Network, b.Schedule, by.Barrier)
		if err != nil {
			return nil, fmt.Errorf("background: %w", err)
		}
		sim.plays = append(sim.plays, back)
	}
	for _, p := range sim.plays {
		if err := p.begin(0); err != nil {
			return nil, err
		}
	}
	began := 0.0
	for main.inside > 0 {
		if err := sim.step(); err != nil {
			return nil, err
		}
		if by.Work > 0 && sim.work > by.Work {
			return nil, ErrWork
		}
		if len(sim.plays) > 1 && sim.plays[1].inside == 0 && sim.now > began { // one without any time is not repeated
			t.Rounds++
			began = sim.now
			if err := sim.plays[1].begin(began); err != nil {
				return nil, err
			}
		}
	}
	t.Seconds, t.Ended = sim.now, main.ended
	return t, nil
}

// simulation is the messages on their way, and those that begin.
type simulation struct {
	*shares
	plays   []*play
	now     float64
	startup float64
	starts  []start // messages that are being begun, by time
	limited bool    // hosts are
	route   []routing.Step
	over    []*flow // that end
}

// step goes on to the next time at which something happens.
func (s *simulation) step() error {
	s.begin()
	next := s.next()
	if len(s.starts) > 0 {
		next = min(next, s.starts[0].at)
	}
	if math.IsInf(next, 1) {
		return errors.New("no message is on its way, and ranks wait for some")
	}
	// Events at nearly the same time happen at the last of these times, so that nothing
	// takes less than its time.
	soon := next * (1 + near)
	s.now, s.over = next, s.over[:0]
	for _, f := range s.flows {
		if f.ends <= soon {
			s.over = append(s.over, f)
			s.now = max(s.now, f.ends)
		}
	}
	for _, b := range s.starts {
		if b.at > soon {
			break
		}
		s.now = max(s.now, b.at)
	}
	for _, f := range s.over {
		s.remove(f)
		if err := f.of.arrived(int(f.stage), f.message, s.now); err != nil {
			return err
		}
	}
	s.begin()
	for len(s.starts) > 0 && s.starts[0].at <= s.now {
		b := s.starts[0]
		s.starts = s.starts[1:]
		if err := s.flow(b); err != nil {
			return err
		}
		s.begin()
	}
	s.divide(s.now)
	return nil
}

// begin takes the messages that ranks may begin.
func (s *simulation) begin() {
	for _, p := range s.plays {
		for _, b := range p.pending {
			b.at = s.now + s.startup
			s.starts = append(s.starts, b)
		}
		p.pending = p.pending[:0]
	}
}

// flow has a message leave, and its rank begin the next.
func (s *simulation) flow(b start) error {
	p := b.of
	st := p.stages[b.stage]
	m := st.messages[b.message]
	if b.message+1 < st.first[m.From+1] {
		p.pending = append(p.pending, start{of: p, stage: b.stage, message: b.message + 1})
	}
	var err error
	if s.route, err = p.network.Route(s.route[:0], m.From, m.To); err != nil {
		return fmt.Errorf("from rank %d to rank %d: %w", m.From, m.To, err)
	}
	if len(s.route) == 0 || m.Size == 0 {
		return p.arrived(b.stage, m, s.now)
	}
	f := &flow{}
	if k := len(s.free) - 1; k >= 0 {
		f, s.free = s.free[k], s.free[:k]
	}
	f.over, f.left = f.over[:0], float64(m.Size)
	f.of, f.stage, f.message = p, int32(b.stage), m
	for _, step := range s.route {
		f.over = append(f.over, int32(step.Link))
	}
	if s.limited {
		g := p.network.Graph()
		f.over = append(f.over, int32(g.Links())+int32(p.network.Host(m.From)), int32(g.Links()+g.Hosts())+int32(p.network.Host(m.To)))
	}
	s.add(f, s.now)
	return nil
}

// rates returns those of all links in bytes per second, and behind them, if hosts are
// limited, the rates at which each can send, and receive.
func (c Costs) rates(n *Network) []float64 {
	g := n.Graph()
	var rates []float64
	for l := range topology.Link(g.Links()) {
		rates = append(rates, c.rate(n, l))
	}
	if c.Inject > 0 {
		for range 2 * g.Hosts() {
			rates = append(rates, c.Inject)
		}
	}
	return rates
}

// rate is that of a link in bytes per second.
func (c Costs) rate(n *Network, l topology.Link) float64 {
	if r := n.Graph().Rate(l); r > 0 {
		return float64(r) / 8
	}
	if c.Rate > 0 {
		return c.Rate
	}
	return DefaultRate
}
