package placement

// slotRule is the default: so many ranks on each host as the user says, or as its slots
// say, or evenly, in blocks in the order of hosts.
type slotRule struct{}

func (slotRule) Place(in *Input) ([]Run, error) {
	switch {
	case in.PPN > 0:
		return ppnRule{}.Place(in)
	case in.slotted():
		return slotsRule{}.Place(in)
	default:
		return evenRule{}.Place(in)
	}
}

// slotted says whether some host has slots.
func (in *Input) slotted() bool {
	for i := range in.Hosts {
		if in.Hosts[i].Slots > 0 {
			return true
		}
	}
	return false
}

// room returns the number of ranks that each host takes in its turn, and that of all
// ranks, for whom the rooms suffice. The error is that of rule slot, which finds no
// place.
func (in *Input) room() (room []int, ranks int, err error) {
	runs, err := slotRule{}.Place(in)
	if err != nil {
		return nil, 0, err
	}
	room = make([]int, len(in.Hosts))
	for _, r := range runs {
		room[r.Host] += r.Count
		ranks += r.Count
	}
	for i := range in.Hosts {
		h := in.Hosts[i]
		switch {
		case ranks < len(in.Hosts) && in.PPN == 0 && !in.slotted():
			room[i] = 1
		case in.PPN > 0 && (h.Slots == 0 || in.Oversubscribe || h.free() >= in.PPN):
			room[i] = max(room[i], in.PPN)
		case in.PPN == 0 && in.slotted():
			h.Slots = max(h.Slots, 1)
			room[i] = max(room[i], h.free())
		}
	}
	return room, ranks, nil
}
