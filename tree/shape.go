package tree

import "github.com/golaunch/golaunch/internal/job"

// Split cuts hosts into at most k contiguous parts whose sizes differ by one at most,
// larger ones first. The parts alias hosts. k below 1 counts as 1. Splitting the rest
// behind each part's head again and again yields the tree; with contiguous parts a
// subtree stays inside a switch where the host order follows the topology.
func Split(hosts []job.HostIndex, k int) [][]job.HostIndex {
	k = min(max(k, 1), len(hosts))
	parts := make([][]job.HostIndex, 0, k)
	for i := range k {
		n := len(hosts) / (k - i)
		if len(hosts)%(k-i) != 0 {
			n++
		}
		parts = append(parts, hosts[:n:n])
		hosts = hosts[n:]
	}
	return parts
}

// Depth returns the number of edges from the root to the deepest of n nodes when every
// node splits the nodes below it into k parts. It is 0 for one node.
func Depth(n, k int) int {
	k = max(k, 1)
	d := 0
	for n > 1 {
		n = (n - 1 + k - 1) / k // the largest part below a head
		d++
	}
	return d
}
