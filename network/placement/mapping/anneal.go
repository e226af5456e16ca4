package mapping

import (
	"math"
	"slices"

	"github.com/golaunch/golaunch/network/placement/internal/random"
)

const (
	// stages is the number of times that the temperature falls, to decay of it each
	// time.
	stages = 120
	decay  = 0.96
	// hot and cool are first temperatures, in mean costs of an edge.
	hot, cool = 3, 0.4
	// nearest is the number of places next to a peer's that are tried for a rank.
	nearest = 8
	// directed is in how many of 16 exchanges a rank goes next to a peer; in the
	// others anywhere.
	directed = 15
	// farSteps is the number of steps that one takes where distances are worked out.
	farSteps = 8
	tableLen = 1 << 10
)

// logarithms has how much worse, in temperatures, an exchange may be for a random
// number: -ln of it.
func logarithms() (table [tableLen]float64) {
	for i := range table {
		// Rounded, so that the last bits of a machine's logarithm do not matter.
		table[i] = math.Round(-math.Log((float64(i)+0.5)/tableLen)*(1<<20)) / (1 << 20)
	}
	return table
}

// annealing exchanges the places of two ranks at a time: always where that costs
// less, and where it costs more the less often the more it does and the longer it
// goes on [Kirkpatrick].
type annealing struct {
	*problem
	random random.Source
	m      Map
	rank   []int32 // at each place
	near   [][]int32
	worse  [tableLen]float64
	now    int64
	least  int64 // of now so far
	best   Map   // of least, but for what was better since the last exchange that was worse
	behind bool  // the map is better than best
}

// refine makes a map better in two runs: a hot one that may leave it far behind,
// then one that keeps the most of the better map. Of many ranks each has too few
// steps to come back from a hot run. The result is never worse.
func (p *problem) refine(m Map, steps int64) Map {
	if p.target.dense == nil {
		return p.anneal(m, steps/farSteps, cool)
	}
	m = p.anneal(m, steps*2/3, hot)
	return p.anneal(m, steps/3, cool)
}

// anneal makes a map better with so many steps, each of which looks at one peer of
// a rank. heat is the first temperature, in mean costs of an edge. The map that it
// returns is never worse.
func (p *problem) anneal(m Map, steps int64, heat float64) Map {
	a := &annealing{problem: p, random: random.Source(p.seed), m: slices.Clone(m), best: slices.Clone(m), near: p.target.near(), worse: logarithms()}
	a.rank = make([]int32, len(m))
	for r, place := range m {
		a.rank[place] = int32(r)
	}
	a.now = p.cost(m)
	a.least = a.now
	if len(p.peers) == 0 || len(m) < 3 {
		return a.best
	}
	temperature := heat * float64(a.now) / float64(len(p.peers)/2)
	for stage := range stages {
		if stage == stages-1 {
			temperature = 0
		}
		for left := steps / stages; left > 0; {
			left -= a.exchange(temperature)
		}
		temperature *= decay
	}
	a.keep()
	return a.best
}

// keep remembers the map if it is the best so far.
func (a *annealing) keep() {
	if a.behind {
		copy(a.best, a.m)
		a.behind = false
	}
}

// exchange tries one exchange, and returns the steps that it took.
func (a *annealing) exchange(temperature float64) int64 {
	x := a.random.Uint64()
	r := int32((x >> 32) * uint64(len(a.m)) >> 32)
	peers, _ := a.peersOf(r)
	var place int32
	if x&15 < directed && len(peers) > 0 {
		peer := peers[(x>>4&0xffff)*uint64(len(peers))>>16]
		near := a.near[a.m[peer]]
		place = near[(x>>20&0xfff)*uint64(len(near))>>12]
	} else {
		place = int32(a.random.Int(len(a.m)))
	}
	s := a.rank[place]
	if s == r {
		return 1
	}
	change := a.change(r, s)
	if change > 0 && float64(change) > temperature*a.worse[a.random.Uint64()%tableLen] {
		return int64(len(peers)) + 8
	}
	if change > 0 {
		a.keep()
	}
	from := a.m[r]
	a.m[r], a.m[s] = place, from
	a.rank[place], a.rank[from] = r, s
	a.now += change
	if a.now < a.least {
		a.least, a.behind = a.now, true
	}
	return int64(len(peers)) + 8
}

// change returns the cost of exchanging two ranks' places.
func (a *annealing) change(r, s int32) int64 {
	from, to := a.m[r], a.m[s]
	return a.moved(r, s, from, to) + a.moved(s, r, to, from)
}

// moved returns the cost of moving a rank, beside another that takes its place.
func (a *annealing) moved(r, other, from, to int32) (sum int64) {
	peers, weights := a.peersOf(r)
	if t := a.target; t.dense != nil {
		before, after := t.row(from), t.row(to)
		for i, u := range peers {
			if u != other {
				place := a.m[u]
				sum += weights[i] * (int64(after[place]) - int64(before[place]))
			}
		}
		return sum
	}
	for i, u := range peers {
		if u != other {
			sum += weights[i] * int64(a.target.Distance(to, a.m[u])-a.target.Distance(from, a.m[u]))
		}
	}
	return sum
}

// row returns the distances of a place.
func (t *Target) row(place int32) []uint8 {
	n := len(t.host)
	return t.dense[int(place)*n : int(place)*n+n]
}

// near returns the places next to each place: the nearest of all where all distances
// are kept, else those before and after.
func (t *Target) near() [][]int32 {
	n := len(t.host)
	out := make([][]int32, n)
	for p := range out {
		if t.dense == nil {
			for i := 1; i <= nearest/2; i++ {
				out[p] = append(out[p], int32((p+i)%n), int32((p+n-i%n)%n))
			}
			continue
		}
		var count [256]int
		row := t.row(int32(p))
		for _, d := range row {
			count[d]++
		}
		limit, sum := 0, count[0]
		for sum-1 < nearest && limit < 255 {
			limit++
			sum += count[limit]
		}
		for q, d := range row {
			if q != p && int(d) <= limit {
				out[p] = append(out[p], int32(q))
			}
		}
	}
	return out
}
