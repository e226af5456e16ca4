package collective

import (
	"fmt"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/routing"
)

// exchange returns the allreduce by bidirectional exchange of whole vectors [Sack
// 3.2.1]. Ranks beyond the largest power of two hand their vector in before, and
// get the result after.
func exchange(ranks int, bytes int64) []Stage {
	q := routing.FoldedDoubling(ranks)
	list := wholes(q.Stages, bytes, q.Append)
	if ranks&(ranks-1) != 0 {
		list[q.Stages-1].Combine = false
	}
	return list
}

// meshExchange returns the bidirectional exchange between the partners that load a
// square mesh least.
func meshExchange(b box, bytes int64) []Stage {
	return wholes(b.bits(), bytes, func(pairs []routing.Pair, s int) []routing.Pair {
		for i := range b.size() {
			pairs = append(pairs, routing.Pair{From: int32(i), To: int32(i ^ 1<<b.meshOrder(i)[s])})
		}
		return pairs
	})
}

// wholes returns stages in which pairs send whole vectors, which are combined.
func wholes(stages int, bytes int64, pairs func([]routing.Pair, int) []routing.Pair) []Stage {
	var list []Stage
	for s := range stages {
		list = append(list, Stage{Name: fmt.Sprintf("stage %d", s), Combine: true, Flows: []Flow{{1, func(list []Transfer, _ int) []Transfer {
			for _, p := range pairs(nil, s) {
				list = append(list, Transfer{netsim.Message{From: p.From, To: p.To, Size: bytes}, 0})
			}
			return list
		}}}})
	}
	return list
}
