package placement

import (
	"fmt"
	"slices"
)

// freeRule is for hosts that hold ranks already. It fills free slots, one host after
// the other, then goes to those that hold the fewest ranks: where there are no
// slots, or more ranks than slots are allowed.
type freeRule struct{}

// ShortError says that hosts have fewer free slots than ranks are to go there.
type ShortError struct {
	Ranks, Free, Hosts int
}

// Error tells the numbers.
func (e *ShortError) Error() string {
	return fmt.Sprintf("not enough free slots: %s, %s on %s; give more slots (host:N) or hosts, or --oversubscribe",
		plural(e.Ranks, "rank"), plural(e.Free, "free slot"), plural(e.Hosts, "host"))
}

// Place fails with a *ShortError where the free slots do not suffice.
func (freeRule) Place(in *Input) ([]Run, error) {
	room := make([]int, len(in.Hosts))
	var more []int // hosts that take ranks beyond their slots
	for i := range in.Hosts {
		h := &in.Hosts[i]
		room[i] = h.free()
		if h.Slots == 0 || in.Oversubscribe {
			more = append(more, i)
		}
	}
	n := in.ranks(total(room))
	counts, left := fill(n, room)
	if left > 0 && len(more) == 0 {
		return nil, &ShortError{Ranks: n, Free: n - left, Hosts: len(in.Hosts)}
	}
	load := make([]int, len(more))
	for i, h := range more {
		load[i] = in.Hosts[h].Used + counts[h]
	}
	for i, n := range fewest(left, load) {
		counts[more[i]] += n
	}
	return runsOf(counts), nil
}

// fewest shares n out so that the greatest load becomes the least possible; the first
// hosts get the rest.
func fewest(n int, load []int) []int {
	counts := make([]int, len(load))
	if n == 0 {
		return counts
	}
	below := func(level int) (sum int) {
		for _, l := range load {
			sum += max(0, level-l)
		}
		return sum
	}
	low := slices.Min(load) // the highest level that n suffices for
	for high := low + n + 1; high-low > 1; {
		if mid := (low + high) / 2; below(mid) <= n {
			low = mid
		} else {
			high = mid
		}
	}
	left := n - below(low)
	for i, l := range load {
		counts[i] = max(0, low-l)
		if left > 0 && l <= low {
			counts[i]++
			left--
		}
	}
	return counts
}
