package collective

import "fmt"

// always returns one schedule for all addresses.
func always(order []int) func(int) []int { return func(int) []int { return order } }

// doubling is recursive doubling [Sack 3.4.1] by a schedule for each address. The
// rank i has the address of index place[i]. After s stages a rank has the parts of
// the 2^s ranks whose remapped addresses differ from its own in the lowest s bits
// alone, which is a run of parts.
//
// Where the partner of a rank is missing, although others are there that have its
// messages, the rank gets it in a further stage from the rank that differs in the bit
// of its own that was dealt with last among those of the same coordinate; that rank has
// got it before. There are at most twice the stages, as where the ranks send again that
// had no partner [Sack 3.4.1].
func doubling(b box, order func(address int) []int, place []int32) gathering {
	return doublingUpTo(b.bits(), b, order, place)
}

// doublingUpTo returns the beginning of doubling, as many stages of the schedule.
func doublingUpTo(stages int, b box, order func(address int) []int, place []int32) gathering {
	n := len(place)
	d := doubler{b: b, order: order, address: make([]int, n), remapped: make([]int, n)}
	d.rank = make([]int32, 1<<b.bits())
	for a := range d.rank {
		d.rank[a] = -1
	}
	d.first = make([]int, len(d.rank)+1)
	for i, x := range place {
		d.address[i] = b.address(int(x))
		d.rank[d.address[i]] = int32(i)
		d.remapped[i] = remap(order(d.address[i]), d.address[i])
		d.first[d.remapped[i]+1]++
	}
	for v := range d.rank {
		d.first[v+1] += d.first[v]
	}
	g := gathering{at: make([]int32, n)}
	for i, v := range d.remapped {
		g.at[i] = int32(d.first[v])
	}
	for s := range stages {
		name := fmt.Sprintf("stage %d", s)
		g.phases = append(g.phases, singlePhase(name, func(list []piece) []piece { return d.exchange(list, s) }))
		for _, late := range d.lateRounds(s) {
			g.phases = append(g.phases, singlePhase(name+", late", func(list []piece) []piece { return append(list, late...) }))
		}
	}
	return g
}

type doubler struct {
	b                 box
	order             func(address int) []int
	address, remapped []int   // of each rank
	rank              []int32 // at each address, or -1
	first             []int   // number of ranks whose remapped address is lower
}

// piece returns the message with all parts of those whose remapped addresses differ
// from v in the lowest s bits alone.
func (d *doubler) piece(from, to int32, v, s int) piece {
	first := d.first[v>>s<<s]
	return piece{from: from, to: to, first: first, count: d.first[(v>>s+1)<<s] - first}
}

func (d *doubler) exchange(list []piece, s int) []piece {
	for i, a := range d.address {
		if partner := d.rank[a^1<<d.order(a)[s]]; partner >= 0 {
			list = append(list, d.piece(int32(i), partner, d.remapped[i], s))
		}
	}
	return list
}

// lateRounds returns the messages to ranks that missed a partner in stage s, in the
// rounds in which they are sent.
func (d *doubler) lateRounds(s int) [][]piece {
	rounds := make([][]piece, s)
	for i, a := range d.address {
		order := d.order(a)
		bit := 1 << order[s]
		if d.rank[a^bit] >= 0 {
			continue
		}
		mine := d.b.coordinate(order[s])
		last, lowest := -1, a|bit
		for t, o := range order[:s] {
			if a&mine>>o&1 == 1 {
				last, lowest = t, lowest&^(1<<o)
			}
		}
		if last >= 0 && d.rank[lowest] >= 0 {
			from := d.rank[a&^(1<<order[last])]
			rounds[last] = append(rounds[last], d.piece(from, int32(i), d.remapped[i]^1<<s, s))
		}
	}
	var some [][]piece
	for _, r := range rounds {
		if len(r) > 0 {
			some = append(some, r)
		}
	}
	return some
}
