package placement

import "fmt"

// slotsRule fills the slots of one host after the other; a host without any counts as
// one. Ranks beyond all slots are spread evenly, where that is allowed.
type slotsRule struct{}

func (slotsRule) Place(in *Input) ([]Run, error) {
	room := make([]int, len(in.Hosts))
	for i, h := range in.Hosts {
		h.Slots = max(h.Slots, 1)
		room[i] = h.free()
	}
	n := in.ranks(total(room))
	counts, left := fill(n, room)
	if left > 0 && !in.Oversubscribe {
		return nil, fmt.Errorf("not enough slots: %s, %s on %s, %d missing; add hosts, give more slots (host:N), or --oversubscribe",
			plural(n, "rank"), plural(n-left, "slot"), named(in.Hosts), left)
	}
	spread(left, counts)
	return runsOf(counts), nil
}
