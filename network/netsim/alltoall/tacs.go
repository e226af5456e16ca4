package alltoall

import (
	"cmp"
	"slices"

	"github.com/golaunch/golaunch/network/netsim"
)

// TACS1 is topology-aware communication schedule 1 [Subramoni, algorithm 2]: in no
// stage are more than share messages on a link, and ranks for which there is no
// partner then are idle, so that there are more stages than ranks. With share 1 nobody
// shares a link; the source's num_conflicts is share - 1. It is meant for networks
// with one rank on each host, and has messages of size 1: Expand does the rest. The
// error is that of a pair without a route, or says that there are more ranks than
// MaxRanks.
//
// The source matches nodes that exchange, those that are farthest from each other
// first. Here a rank may receive from one and send to another, as in Pairwise,
// which leaves more to choose from; and those ranks choose first to which the link
// leads that has most messages still to carry, because no schedule has fewer stages
// than that link has messages.
func TACS1(n *netsim.Network, share int) (netsim.Schedule, error) {
	stages, err := match(n, share)
	if err != nil {
		return netsim.Schedule{}, err
	}
	return planned("tacs1", n.Ranks(), stages), nil
}

// TACS2 is topology-aware communication schedule 2 [Subramoni 6.2.3]: it has as many
// stages as ranks. These are the first of TACS1; a rank that sends nothing in one of
// them sends the first message that it would send after them, and those that receive
// then may have several to receive.
func TACS2(n *netsim.Network, share int) (netsim.Schedule, error) {
	stages, err := match(n, share)
	if err != nil {
		return netsim.Schedule{}, err
	}
	ranks := n.Ranks()
	late := make([][]netsim.Message, ranks) // by sender
	for _, stage := range stages[min(ranks, len(stages)):] {
		for _, m := range stage {
			late[m.From] = append(late[m.From], m)
		}
	}
	stages = append(stages, make([][]netsim.Message, max(0, ranks-len(stages)))...)[:ranks]
	busy := make([]bool, ranks)
	for i, stage := range stages {
		clear(busy)
		for _, m := range stage {
			busy[m.From] = true
		}
		for from, messages := range late {
			if !busy[from] && len(messages) > 0 {
				stages[i] = append(stages[i], messages[0])
				late[from] = messages[1:]
			}
		}
	}
	return planned("tacs2", ranks, stages), nil
}

// planned returns the schedule of a list of stages.
func planned(name string, ranks int, stages [][]netsim.Message) netsim.Schedule {
	return netsim.Schedule{Name: name, Ranks: ranks, Stages: len(stages), Append: func(messages []netsim.Message, s int) []netsim.Message {
		return append(messages, stages[s]...)
	}}
}

// match spreads the messages of all pairs over stages in which each rank sends at
// most one and receives at most one.
func match(n *netsim.Network, share int) ([][]netsim.Message, error) {
	f, err := newFlows(n)
	if err != nil {
		return nil, err
	}
	var stages [][]netsim.Message
	first := make([]int32, n.Ranks()) // ranks in the order in which they choose
	s := openStage{sends: make([]bool, len(first)), receives: make([]bool, len(first)), on: make([]int32, len(f.left))}
	for f.count > 0 {
		for i := range first {
			first[i] = int32(i)
		}
		slices.SortStableFunc(first, func(a, b int32) int {
			return cmp.Compare(f.left[f.busiest[b]], f.left[f.busiest[a]])
		})
		s.clear()
		// First without conflicts; then with as many as are allowed.
		for _, most := range slices.Compact([]int{1, max(1, share)}) {
			for _, to := range first {
				if !s.receives[to] {
					s.choose(f, to, int32(most))
				}
			}
		}
		stages = append(stages, slices.Clone(s.messages))
	}
	return stages, nil
}

// openStage is a stage that is being filled.
type openStage struct {
	messages        []netsim.Message
	sends, receives []bool
	on              []int32 // messages on each link
}

func (s *openStage) clear() {
	s.messages = s.messages[:0]
	clear(s.sends)
	clear(s.receives)
	clear(s.on)
}

// choose has a rank receive from the farthest that is left, if any may send in this
// stage over links with fewer than most messages.
func (s *openStage) choose(f *flows, to, most int32) {
	list := f.to[to]
	for i := len(list) - 1; i >= 0; i-- {
		one := &list[i]
		// Its first link is looked at before the others, which are far away in memory.
		if !s.sends[one.from] && s.on[one.first] < most && s.fits(f.links[one.begin:one.end], most) {
			s.sends[one.from], s.receives[to] = true, true
			s.messages = append(s.messages, netsim.Message{From: one.from, To: to, Size: 1})
			f.take(to, i, s.on)
			return
		}
	}
}

func (s *openStage) fits(links []int32, most int32) bool {
	for _, link := range links {
		if s.on[link] >= most {
			return false
		}
	}
	return true
}
