package overlay

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// Parts cuts a range for the agent above it: at most degree heads, each with the hosts
// that it starts in turn. Of relayed hosts they are the relays. The parts alias hosts.
func Parts(hosts []HostEntry, degree int, relayed bool) [][]HostEntry {
	if relayed {
		return ranges(hosts, func(h HostEntry) int { return h.Below })
	}
	return join(hosts, ranges(hosts, func(h HostEntry) int { return h.Cut }), degree)
}

// ranges returns the heads among hosts, each with so many of those that follow as below
// says, or as there are.
func ranges(hosts []HostEntry, below func(HostEntry) int) (parts [][]HostEntry) {
	for len(hosts) > 0 {
		n := min(max(below(hosts[0]), 0), len(hosts)-1) + 1
		parts = append(parts, hosts[:n])
		hosts = hosts[n:]
	}
	return parts
}

// join makes no more than degree of parts of hosts, as even in number as can be: of
// single hosts where no network cuts their range, of a dead host's rest otherwise.
func join(hosts []HostEntry, parts [][]HostEntry, degree int) (joined [][]HostEntry) {
	index := make([]job.HostIndex, len(parts))
	for i := range index {
		index[i] = job.HostIndex(i) // positions in parts, which Split cuts
	}
	for _, some := range tree.Split(index, degree) {
		n := 0
		for _, i := range some {
			n += len(parts[i])
		}
		joined = append(joined, hosts[:n])
		hosts = hosts[n:]
	}
	return joined
}
