package launcher

import (
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// Blocks are the ranks of a world with their hosts, in rank order.
type Blocks []job.Block

// hostOf returns the host of a rank, job.NoHost if there is no such rank.
func (b Blocks) hostOf(r job.Rank) job.HostIndex {
	if block := job.BlockOf(b, r); block != nil {
		return block.Host
	}
	return job.NoHost
}

// hosts returns the hosts that hold ranks, in order.
func (b Blocks) hosts() []job.HostIndex {
	hosts := make([]job.HostIndex, len(b))
	for i := range b {
		hosts[i] = b[i].Host
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// on reports whether a host holds ranks.
func (b Blocks) on(h job.HostIndex) bool {
	return slices.ContainsFunc(b, func(x job.Block) bool { return x.Host == h })
}

// perHost counts the ranks of each of so many hosts.
func (b Blocks) perHost(hosts int) []int {
	ranks := make([]int, hosts)
	for _, x := range b {
		ranks[x.Host] += x.Count
	}
	return ranks
}
