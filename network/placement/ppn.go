package placement

import "fmt"

// ppnRule puts the same number on each host, one after the other. Further ranks are
// spread evenly, where that is allowed.
type ppnRule struct{}

func (ppnRule) Place(in *Input) ([]Run, error) {
	room := make([]int, len(in.Hosts))
	for i := range room {
		room[i] = in.PPN
	}
	n := in.ranks(total(room))
	counts, left := fill(n, room)
	for i, h := range in.Hosts {
		if h.Slots > 0 && !in.Oversubscribe && counts[i] > h.free() {
			return nil, fmt.Errorf("not enough slots on host %s: %s by --ppn, %s; give it more slots (host:N), lower --ppn, or --oversubscribe",
				h.Name, plural(counts[i], "rank"), plural(h.free(), "slot"))
		}
	}
	if left > 0 && !in.Oversubscribe {
		return nil, fmt.Errorf("not enough slots: %s, %d on %s with --ppn %d, %d missing; add hosts, raise --ppn, or --oversubscribe",
			plural(n, "rank"), n-left, named(in.Hosts), in.PPN, left)
	}
	spread(left, counts)
	return runsOf(counts), nil
}
