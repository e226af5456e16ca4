package alltoall

import (
	"fmt"

	"github.com/golaunch/golaunch/network/netsim"
)

// Cost returns the cost of each stage of a schedule: the load of its busiest directed
// link. Their sum is the cost of the schedule, if all messages of a stage are of one
// size and a stage begins when the one before has ended. The error is that of a pair
// without a route.
func Cost(n *netsim.Network, s netsim.Schedule) ([]int64, error) {
	if s.Ranks > n.Ranks() {
		return nil, fmt.Errorf("%s is for %d ranks, the network has %d", s.Name, s.Ranks, n.Ranks())
	}
	load := netsim.NewLoad(n)
	var messages []netsim.Message
	stages := make([]int64, s.Stages)
	for i := range stages {
		messages = s.Append(messages[:0], i)
		if err := load.Add(messages); err != nil {
			return nil, fmt.Errorf("stage %d of %s: %w", i, s.Name, err)
		}
		stages[i] = load.Max()
		load.Reset()
	}
	return stages, nil
}

// Total returns the sum of the stages' costs.
func Total(stages []int64) int64 {
	var sum int64
	for _, c := range stages {
		sum += c
	}
	return sum
}

// Bound returns the least cost of any exchange of all with all: the load that all its
// messages together, each of size 1, put on the busiest directed link. The error is
// that of a pair without a route.
func Bound(n *netsim.Network) (int64, error) {
	load := netsim.NewLoad(n)
	var messages []netsim.Message
	s := Pairwise(n.Ranks(), 1)
	for i := range s.Stages {
		messages = s.Append(messages[:0], i)
		if err := load.Add(messages); err != nil {
			return 0, err
		}
	}
	return load.Max(), nil
}
