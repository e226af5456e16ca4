package routing

import "math/bits"

// TreeDoubling is topology-aware recursive doubling [Zahavi, equations 3 to 7]
// for n ranks in tree order, where m are the children of a fat tree's nodes level
// by level: ranks exchange below each leaf switch first, then between leaf
// switches, and so on. At each level where m is no power of two, the ranks above
// the largest one hand in their part before, and get the result after.
//
// If n fills no whole number of the largest subtrees, the ranks of the last part
// hand theirs in before all else to the ranks at the same places of the subtree
// before, and get the result after all. N beyond the tree's size counts as that
// many more subtrees at the top.
func TreeDoubling(m []int, n int) Sequence {
	const before, doubling, after = 0, 1, 2
	type stage struct {
		kind        int
		low, m, bit int // M_{l-1}, m_l, s
		from, to    int // ranks from..to-1 take part
	}
	low := 1 // M_{l-1} of the uppermost level that n needs
	levels := m
	for i, k := range m {
		if low*k >= n || i == len(m)-1 {
			levels = append(append([]int(nil), m[:i]...), n/low)
			break
		}
		low *= k
	}
	whole := n
	if low > 0 && n > 0 {
		whole = n / low * low
	}
	var stages []stage
	if whole < n {
		stages = append(stages, stage{kind: before, low: low, m: 1, from: whole, to: n})
	}
	below := 1
	for _, k := range levels {
		if k < 1 {
			continue
		}
		l := bits.Len(uint(k)) - 1
		if k != 1<<l {
			stages = append(stages, stage{kind: before, low: below, m: k, bit: l, to: whole})
		}
		for s := range l {
			stages = append(stages, stage{kind: doubling, low: below, m: k, bit: s, to: whole})
		}
		if k != 1<<l {
			stages = append(stages, stage{kind: after, low: below, m: k, bit: l, to: whole})
		}
		below *= k
	}
	if whole < n {
		stages = append(stages, stage{kind: after, low: low, m: 1, from: whole, to: n})
	}
	return Sequence{Name: "tree recursive doubling", Ranks: n, Stages: len(stages), stage: func(pairs []Pair, s int) []Pair {
		st := stages[s]
		for i := st.from; i < st.to; i++ {
			digit := i / st.low % st.m
			power := 1 << (bits.Len(uint(st.m)) - 1)
			over := st.m == 1 || digit >= power // hands in its part
			j := i - power*st.low
			switch {
			case st.kind == before && over:
				pairs = append(pairs, Pair{int32(i), int32(j)})
			case st.kind == after && over:
				pairs = append(pairs, Pair{int32(j), int32(i)})
			case st.kind == doubling && !over:
				pairs = append(pairs, Pair{int32(i), int32(i + ((digit^1<<st.bit)-digit)*st.low)})
			}
		}
		return pairs
	}}
}
