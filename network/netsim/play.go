package netsim

import "fmt"

// play is a schedule that is being carried out.
type play struct {
	network  *Network
	schedule Schedule
	barrier  bool

	stages  []*stage // nil before its first rank and behind its last message
	done    []bool   // by stage: all messages have arrived
	at      []int    // by rank: the stage that it is in
	inside  int      // ranks that are not through; with barriers, 1 until all are
	ended   []float64
	pending []start // messages that ranks may begin, which the simulator takes
}

// stage is a stage that some rank has begun.
type stage struct {
	messages []Message // by sender
	first    []int     // by rank: its first message; that of the next is behind its last
	need     []int     // by rank: messages that it has still to send and receive
	left     int       // messages that have not arrived
}

// start is a message that its rank begins, after one start-up.
type start struct {
	of      *play
	stage   int
	message int // of the stage's
	at      float64
}

func newPlay(n *Network, s Schedule, barrier bool) (*play, error) {
	if s.Ranks > n.Ranks() {
		return nil, fmt.Errorf("%d ranks are on hosts, of %d of %s", n.Ranks(), s.Ranks, s.Name)
	}
	return &play{network: n, schedule: s, barrier: barrier, stages: make([]*stage, s.Stages),
		done: make([]bool, s.Stages), at: make([]int, s.Ranks), ended: make([]float64, s.Stages)}, nil
}

// begin has all ranks begin the first stage.
func (p *play) begin(now float64) error {
	clear(p.done)
	clear(p.at)
	if p.barrier {
		p.inside = 1
		return p.enterAll(0, now)
	}
	p.inside = p.schedule.Ranks
	for rank := range p.at {
		if err := p.enter(int32(rank), now); err != nil {
			return err
		}
	}
	return nil
}

// enter has a rank go on from the stage that it has come to, until it has to wait.
func (p *play) enter(rank int32, now float64) error {
	for s := p.at[rank]; s < p.schedule.Stages; s++ {
		p.at[rank] = s
		if err := p.load(s, now); err != nil {
			return err
		}
		if st := p.stages[s]; st != nil {
			p.send(rank, s)
			if st.need[rank] > 0 {
				return nil
			}
		}
	}
	p.at[rank] = p.schedule.Stages
	p.inside--
	return nil
}

// enterAll has all ranks begin a stage together, or the first behind it that has
// messages.
func (p *play) enterAll(s int, now float64) error {
	for ; s < p.schedule.Stages; s++ {
		if err := p.load(s, now); err != nil {
			return err
		}
		if p.stages[s] != nil {
			for rank := range p.at {
				p.at[rank] = s
				p.send(int32(rank), s)
			}
			return nil
		}
	}
	p.inside = 0
	return nil
}

// send has a rank begin its first message of a stage.
func (p *play) send(rank int32, s int) {
	if st := p.stages[s]; st.first[rank] < st.first[rank+1] {
		p.pending = append(p.pending, start{of: p, stage: s, message: st.first[rank]})
	}
}

// arrived notes that a message has arrived; its ranks may go on.
func (p *play) arrived(s int, m Message, now float64) error {
	st := p.stages[s]
	st.need[m.From]--
	st.need[m.To]--
	if st.left--; st.left == 0 {
		p.stages[s], p.done[s], p.ended[s] = nil, true, now
		if p.barrier {
			return p.enterAll(s+1, now)
		}
	}
	if p.barrier {
		return nil
	}
	for _, rank := range []int32{m.From, m.To} {
		if p.at[rank] == s && st.need[rank] == 0 {
			p.at[rank]++
			if err := p.enter(rank, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// load makes a stage ready, unless it is, or all of its messages have arrived.
func (p *play) load(s int, now float64) error {
	if p.stages[s] != nil || p.done[s] {
		return nil
	}
	ranks := p.schedule.Ranks
	all := p.schedule.Append(nil, s)
	st := &stage{messages: make([]Message, 0, len(all)), first: make([]int, ranks+1), need: make([]int, ranks)}
	for _, m := range all {
		if err := p.network.check(m); err != nil {
			return fmt.Errorf("stage %d of %s: %w", s, p.schedule.Name, err)
		}
		if int(max(m.From, m.To)) >= ranks {
			return fmt.Errorf("stage %d of %s: a message from rank %d to rank %d, of %d ranks", s, p.schedule.Name, m.From, m.To, ranks)
		}
		if m.From != m.To {
			st.first[m.From+1]++
			st.need[m.From]++
			st.need[m.To]++
			st.left++
		}
	}
	if st.left == 0 {
		p.done[s], p.ended[s] = true, now
		return nil
	}
	for rank := range ranks {
		st.first[rank+1] += st.first[rank]
	}
	st.messages = st.messages[:st.left]
	next := append([]int(nil), st.first...)
	for _, m := range all {
		if m.From != m.To {
			st.messages[next[m.From]] = m
			next[m.From]++
		}
	}
	p.stages[s] = st
	return nil
}
