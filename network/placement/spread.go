package placement

import "slices"

// SpreadSlots sets the slots of hosts, 0 for one without a limit, so that ranks are spread
// evenly over them: all are 0 then, and it returns true. Where slots don't suffice for that,
// ranks fill them one after the other so that each host has one at least, if there are as many.
func SpreadSlots(ranks int, slots []int) (even bool) {
	each := (ranks + len(slots) - 1) / len(slots)
	if !slices.ContainsFunc(slots, func(n int) bool { return n > 0 && n < each }) {
		clear(slots)
		return true
	}
	for i, n := range slots {
		if after := len(slots) - 1 - i; n > 1 && ranks > after {
			slots[i] = min(n, ranks-after)
		}
		ranks -= slots[i]
	}
	return false
}
