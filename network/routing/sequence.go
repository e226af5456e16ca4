package routing

import "math/bits"

// Pair is a message of a stage: the ranks that send and receive it.
type Pair struct{ From, To int32 }

// Sequence is a collective permutation sequence: which ranks send to which in
// each stage of a collective operation [Zahavi 3].
type Sequence struct {
	Name   string
	Ranks  int
	Stages int
	stage  func(pairs []Pair, s int) []Pair
}

// Append appends the messages of stage s, 0..Stages-1.
func (q Sequence) Append(pairs []Pair, s int) []Pair { return q.stage(pairs, s) }

// Sample is at most n of the stages, evenly spread, the first among them.
func (q Sequence) Sample(n int) Sequence {
	if n >= q.Stages || n < 1 {
		return q
	}
	all, stages := q.stage, q.Stages
	q.Stages = n
	q.stage = func(pairs []Pair, s int) []Pair { return all(pairs, s*stages/n) }
	return q
}

// sequence returns a Sequence whose stage s has the messages that partner tells: rank
// i sends to partner(s, i), unless that is negative.
func sequence(name string, ranks, stages int, partner func(s, i int) int) Sequence {
	return Sequence{Name: name, Ranks: ranks, Stages: stages, stage: func(pairs []Pair, s int) []Pair {
		for i := range ranks {
			if j := partner(s, i); j >= 0 {
				pairs = append(pairs, Pair{int32(i), int32(j)})
			}
		}
		return pairs
	}}
}

// log2 returns the number of stages in which a doubling distance covers n ranks.
func log2(n int) int { return bits.Len(uint(max(n, 1) - 1)) }

// Shift returns a stage for each distance: rank i sends to i+s, s from 1. Its
// messages are a superset of those of all sequences in one direction.
func Shift(n int) Sequence {
	return sequence("shift", n, max(0, n-1), func(s, i int) int { return (i + s + 1) % n })
}

// ShiftBy returns the one stage of Shift with that distance.
func ShiftBy(n, distance int) Sequence {
	return sequence("shift by a distance", n, 1, func(_, i int) int { return (i + distance) % n })
}

// Ring returns the stage of Shift with distance 1.
func Ring(n int) Sequence {
	q := ShiftBy(n, 1)
	q.Name = "ring"
	if n < 2 {
		q.Stages = 0
	}
	return q
}

// Dissemination has rank i send to i + 2^s, around.
func Dissemination(n int) Sequence {
	return sequence("dissemination", n, log2(n), func(s, i int) int { return (i + 1<<s) % n })
}

// ReverseDissemination is Dissemination with the largest distance first.
func ReverseDissemination(n int) Sequence {
	return reversed("reverse dissemination", Dissemination(n))
}

// Binomial has rank i < 2^s send to i + 2^s.
func Binomial(n int) Sequence {
	return sequence("binomial", n, log2(n), func(s, i int) int {
		if i < 1<<s && i+1<<s < n {
			return i + 1<<s
		}
		return -1
	})
}

// Tournament has rank i + 2^s send to i, where 2^(s+1) divides i.
func Tournament(n int) Sequence {
	return sequence("tournament", n, log2(n), func(s, i int) int {
		if i%(2<<s) == 1<<s {
			return i - 1<<s
		}
		return -1
	})
}

// RecursiveDoubling has rank i and i xor 2^s exchange. Pairs of which one is missing
// are left out: MPI libraries use FoldedDoubling then.
func RecursiveDoubling(n int) Sequence {
	return sequence("recursive doubling", n, log2(n), func(s, i int) int {
		if j := i ^ 1<<s; j < n {
			return j
		}
		return -1
	})
}

// RecursiveHalving is RecursiveDoubling with the largest distance first.
func RecursiveHalving(n int) Sequence { return reversed("recursive halving", RecursiveDoubling(n)) }

func reversed(name string, q Sequence) Sequence {
	all, stages := q.stage, q.Stages
	q.Name = name
	q.stage = func(pairs []Pair, s int) []Pair { return all(pairs, stages-1-s) }
	return q
}

// FoldedDoubling is recursive doubling among the first 2^k ranks, 2^k the largest
// power of two up to n. Where that leaves ranks out, a stage before has each send
// to the one 2^k below, and a stage after sends the result back.
func FoldedDoubling(n int) Sequence {
	k := max(0, bits.Len(uint(max(n, 1)))-1)
	power := 1 << k
	if power == n {
		q := RecursiveDoubling(n)
		q.Name = "folded recursive doubling"
		return q
	}
	return sequence("folded recursive doubling", n, k+2, func(s, i int) int {
		switch {
		case s == 0 && i >= power:
			return i - power
		case s == k+1 && i+power < n:
			return i + power
		case 0 < s && s <= k && i < power:
			return i ^ 1<<(s-1)
		}
		return -1
	})
}
