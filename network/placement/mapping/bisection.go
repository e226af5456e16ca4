package mapping

import (
	"cmp"
	"slices"

	"github.com/golaunch/golaunch/network/placement/partition"
)

// bisection halves the places and the ranks again and again, all domains of one depth
// before the next: edges to ranks of other domains draw a rank to the half that is
// nearer [Pellegrini and Roman].
type bisection struct{}

const (
	sampled = 3  // places of a domain that stand for it
	fixed   = 64 // mean distances are in this part of the target's unit
)

// domain is places, and the ranks that will be there.
type domain struct {
	places, ranks []int32
	sample        []int32 // of the places
}

func (bisection) maps(p *problem) ([]named, error) {
	all := Identity(p.ranks())
	whole := &domain{places: all, ranks: slices.Clone(all)}
	whole.stand()
	b := &bisector{problem: p, in: make([]*domain, p.ranks())}
	for r := range b.in {
		b.in[r] = whole
	}
	m := make(Map, p.ranks())
	for todo := []*domain{whole}; len(todo) > 0; {
		var next []*domain
		for _, d := range todo {
			if len(d.places) == 1 {
				m[d.ranks[0]] = d.places[0]
				continue
			}
			left, right, err := b.halve(d)
			if err != nil {
				return nil, err
			}
			next = append(next, left, right)
		}
		todo = next
	}
	return []named{{"bisection", m}}, nil
}

func (d *domain) stand() {
	for i := range min(sampled, len(d.places)) {
		d.sample = append(d.sample, d.places[(2*i+1)*len(d.places)/(2*min(sampled, len(d.places)))])
	}
}

// bisector is one bisection.
type bisector struct {
	*problem
	in []*domain // of each rank
}

// halve divides a domain in two.
func (b *bisector) halve(d *domain) (left, right *domain, err error) {
	at := b.target.half(d.places)
	left, right = &domain{places: d.places[:at]}, &domain{places: d.places[at:]}
	left.stand()
	right.stand()
	apart := max(1, b.mean(left, right)-(b.mean(left, left)+b.mean(right, right))/2)
	pull := make([]int64, len(d.ranks))
	type pulls struct{ left, right int64 }
	known := map[*domain]pulls{}
	for i, r := range d.ranks {
		peers, weights := b.peersOf(r)
		for k, u := range peers {
			other := b.in[u]
			if other == d {
				continue
			}
			x, ok := known[other]
			if !ok {
				x = pulls{b.mean(left, other), b.mean(right, other)}
				known[other] = x
			}
			pull[i] += weights[k] * (x.right - x.left) / apart
		}
	}
	inner, err := b.graph.Induced(d.ranks)
	if err != nil {
		return nil, nil, err
	}
	side, err := partition.Bisect(inner, at, pull, partition.Options{Seed: b.seed, Tries: 2})
	if err != nil {
		return nil, nil, err
	}
	for i, r := range d.ranks {
		half := left
		if side[i] == 1 {
			half = right
		}
		half.ranks = append(half.ranks, r)
		b.in[r] = half
	}
	return left, right, nil
}

// mean returns the mean distance of two domains, in parts of the unit.
func (b *bisector) mean(x, y *domain) int64 {
	sum := int64(0)
	for _, p := range x.sample {
		for _, q := range y.sample {
			sum += int64(b.target.Distance(p, q))
		}
	}
	return fixed * sum / int64(len(x.sample)*len(y.sample))
}

// half puts places in an order, and returns how many are to be on the first side:
// on a torus the plane that cuts the widest dimension, else some of the groups of
// the widest level at which they differ. Hosts stay whole as long as there are
// several.
func (t *Target) half(places []int32) int {
	key := func(place int32) int { return int(place) }
	if wide := t.widest(places); wide >= 0 {
		key = func(place int32) int { return t.at[t.host[place]][wide] }
	} else {
		for _, l := range t.levels {
			if slices.ContainsFunc(places, func(place int32) bool { return l.group[place] != l.group[places[0]] }) {
				first := map[int32]int{} // the first place of each group
				for _, place := range places {
					if _, ok := first[l.group[place]]; !ok {
						first[l.group[place]] = len(first)
					}
				}
				key = func(place int32) int { return first[l.group[place]] }
				break
			}
		}
	}
	slices.SortStableFunc(places, func(a, b int32) int { return cmp.Compare(key(a), key(b)) })
	at, n := len(places), len(places)
	for i := 1; i < n; i++ {
		if key(places[i]) != key(places[i-1]) && abs(2*i-n) < abs(2*at-n) {
			at = i
		}
	}
	return at
}

// widest returns the dimension of a torus in which places extend most, -1 if they are at
// one switch, or on no torus.
func (t *Target) widest(places []int32) int {
	if t.torus == nil {
		return -1
	}
	wide, most := -1, 0
	for d := range t.torus.Dims {
		lo, hi := t.at[t.host[places[0]]][d], t.at[t.host[places[0]]][d]
		for _, place := range places {
			x := t.at[t.host[place]][d]
			lo, hi = min(lo, x), max(hi, x)
		}
		if hi-lo > most {
			wide, most = d, hi-lo
		}
	}
	return wide
}

func abs(x int) int { return max(x, -x) }
