package alltoall

import (
	"math/bits"

	"github.com/golaunch/golaunch/network/netsim"
)

// window is the number of messages that a rank has under way at once in
// ScatterDestination; MPICH's is 32 (MPIR_CVAR_ALLTOALL_THROTTLE).
const window = 32

// XOR returns the pairwise exchange of a number of ranks that is a power of two: in
// stage s, rank i exchanges with i xor s+1 [Subramoni 2.3.3]. For other
// numbers it has the stages of the next power of two, in some of which ranks are
// idle.
func XOR(ranks int, bytes int64) netsim.Schedule {
	stages := max(0, 1<<bits.Len(uint(max(ranks, 1)-1))-1)
	return netsim.Schedule{Name: "xor", Ranks: ranks, Stages: stages, Append: func(messages []netsim.Message, s int) []netsim.Message {
		for i := range ranks {
			if j := i ^ (s + 1); j < ranks {
				messages = append(messages, netsim.Message{From: int32(i), To: int32(j), Size: bytes})
			}
		}
		return messages
	}}
}

// Pairwise has rank i send to i+s+1 and receive from i-s-1 in stage s, around.
func Pairwise(ranks int, bytes int64) netsim.Schedule {
	return netsim.Schedule{Name: "pairwise", Ranks: ranks, Stages: max(0, ranks-1), Append: func(messages []netsim.Message, s int) []netsim.Message {
		return shift(messages, ranks, s+1, bytes)
	}}
}

// ScatterDestination has each rank send to those that follow it, around, without
// waiting for answers, but with no more than 32 messages under way
// [Subramoni 2.3.3].
func ScatterDestination(ranks int, bytes int64) netsim.Schedule {
	last := max(0, ranks-1)
	return netsim.Schedule{Name: "scatter-destination", Ranks: ranks, Stages: (last + window - 1) / window, Append: func(messages []netsim.Message, s int) []netsim.Message {
		for d := s*window + 1; d <= min(last, (s+1)*window); d++ {
			messages = shift(messages, ranks, d, bytes)
		}
		return messages
	}}
}

func shift(messages []netsim.Message, ranks, distance int, bytes int64) []netsim.Message {
	for i := range ranks {
		messages = append(messages, netsim.Message{From: int32(i), To: int32((i + distance) % ranks), Size: bytes})
	}
	return messages
}

// Bruck has as many stages as log2 of the ranks: in stage s, rank i sends i+2^s, around,
// all blocks that it holds and that have a distance with bit s still to go
// [Subramoni 2.3.3].
func Bruck(ranks int, bytes int64) netsim.Schedule {
	stages := bits.Len(uint(max(ranks, 1) - 1))
	return netsim.Schedule{Name: "bruck", Ranks: ranks, Stages: stages, Append: func(messages []netsim.Message, s int) []netsim.Message {
		return shift(messages, ranks, 1<<s, bytes*int64(len(bruckBlocks(ranks, s))))
	}}
}

// bruckBlocks returns the distances to their destinations, at the beginning, of the
// blocks that a rank sends in a stage.
func bruckBlocks(ranks, stage int) []int {
	var distances []int
	for d := 1; d < ranks; d++ {
		if d>>stage&1 == 1 {
			distances = append(distances, d)
		}
	}
	return distances
}
