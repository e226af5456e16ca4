package binding

import (
	"cmp"
	"fmt"
)

// Wish asks for CPUs for the ranks of a host.
type Wish struct {
	Choice Choice // one that binds
	Ranks  int    // their number
	// Taken are the CPUs of ranks that live, one list for each.
	Taken [][]int
	// Share lets ranks share CPUs that are for one of them.
	Share bool
}

// Assign gives each rank its CPUs, in ascending order. In turn each takes the place
// that has the fewest ranks, the first of several, as long as it has a core for it;
// where Share is set and no place has, all begin again. The lists are shared by ranks
// of one place.
func (h *Host) Assign(w Wish) ([][]int, error) {
	places, err := h.places(w.Choice)
	if err != nil {
		return nil, err
	}
	load(places, w.Taken)
	sets := make([][]int, w.Ranks)
	for r := range sets {
		best := &places[0]
		for i := range places {
			if places[i].before(best) {
				best = &places[i]
			}
		}
		if best.load >= best.room && !w.Share {
			return nil, h.tooFewError(w, places)
		}
		best.load++
		sets[r] = best.cpus
	}
	return sets, nil
}

// Free counts the further ranks that the host has room for if they are bound so, where
// CPUs are taken: by one list for each rank that has them.
func (h *Host) Free(c Choice, taken [][]int) (ranks int, err error) {
	places, err := h.places(c)
	if err != nil {
		return 0, err
	}
	load(places, taken)
	for _, p := range places {
		ranks += max(0, p.room-p.load)
	}
	return ranks, nil
}

// load counts the ranks that have CPUs of places.
func load(places []place, taken [][]int) {
	placeOf := map[int]int{}
	for i, p := range places {
		for _, c := range p.cpus {
			placeOf[c] = i
		}
	}
	for _, cpus := range taken {
		counted := map[int]bool{}
		for _, c := range cpus {
			if i, ok := placeOf[c]; ok && !counted[i] {
				counted[i] = true
				places[i].load++
			}
		}
	}
}

// before tells whether a rank takes p rather than q, which comes first in the host.
func (p *place) before(q *place) bool {
	return cmp.Or(cmp.Compare(p.load/p.room, q.load/q.room), cmp.Compare(p.load, q.load)) < 0
}

// tooFewError says that there are more ranks than places to bind them to.
func (h *Host) tooFewError(w Wish, places []place) error {
	_, what := h.room(w.Choice, places)
	beside := ""
	if len(w.Taken) > 0 {
		beside = fmt.Sprintf(" beside %d that live", len(w.Taken))
	}
	return fmt.Errorf("the host has %s for %d %s%s; use fewer per host, --oversubscribe to let ranks share them, or --bind-to none",
		what, w.Ranks, count(w.Ranks, "rank", "ranks"), beside)
}

// Room counts the ranks that the host has room for if they are bound so; has names its
// parts, such as "4 cores".
func (h *Host) Room(c Choice) (ranks int, has string, err error) {
	places, err := h.places(c)
	if err != nil {
		return 0, "", err
	}
	ranks, has = h.room(c, places)
	return ranks, has, nil
}

func (h *Host) room(c Choice, places []place) (ranks int, has string) {
	for _, p := range places {
		ranks += p.room
	}
	one, many := c.kind.nouns()
	if c.each > 1 {
		one, many = fmt.Sprintf("group of %d %s", c.each, many), fmt.Sprintf("groups of %d %s", c.each, many)
	}
	has = fmt.Sprintf("%d %s", len(places), count(len(places), one, many))
	if ranks > len(places) {
		has = fmt.Sprintf("%d cores in %s", ranks, has)
	}
	if len(h.ours) < h.all {
		has += fmt.Sprintf(" (the job may use %s %s alone)", count(len(h.ours), "CPU", "CPUs"), Format(h.ours))
	}
	return ranks, has
}
