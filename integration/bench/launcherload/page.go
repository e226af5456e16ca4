package launcherload

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// The bounds of golaunch's usage.
const (
	boundMemory  = 20_000_000            // bytes
	boundPerNode = 200                   // bytes
	boundPerRank = 32                    // bytes
	boundCPU     = 50 * time.Microsecond // per node
)

// bound returns the memory that golaunch may take for a job.
func (l load) bound() int64 {
	return boundMemory + boundPerNode*int64(l.nodes) + boundPerRank*int64(l.nodes*l.ppn)
}

// page renders the results.
func page(s settings, all []load) string {
	var b strings.Builder
	b.WriteString(s.Head("What the launcher takes, by nodes and ranks"))
	fmt.Fprintf(&b, `%s, %s; medians of %d runs.

golaunch is a process of its own and the real one, started with --bootstrap exec. The
agents are real, too, in a tree of degree %d: the root is a process, and below each of
its children all share one, with links in memory between them. (All in one would need
five descriptors for each agent and six for each rank, more than a process is allowed
here.) Wardens and ranks are stood in for: each rank is two pipes and a socket, runs for
0.3 s from when it is started, and speaks no PMI.

Of golaunch: the most descriptors open at a time, sampled every %v; the peak of its
resident memory (VmHWM, which has the pages of the executable, too), and what it may be:
20 MB + 200 bytes per node + 32 bytes per rank; by how much it grows per node from the
least number of nodes on; processor time, some of which is the same for any job, and
which may be %v per node. "An agent" is a process of agents by their number.

Not in it: signatures. With --bootstrap ssh golaunch makes one for each node.

| nodes | ranks | descriptors | memory MB | may be MB | bytes per node more | CPU ms | CPU us per node | wall s | an agent: memory KB | CPU ms |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, runtime.Version(), results.Machine(), s.Runs, s.degree, poll, boundCPU)
	var first load
	for _, l := range all {
		if l.ppn != first.ppn {
			first = l
		}
		more := "–"
		if n := l.nodes - first.nodes; n > 0 {
			more = fmt.Sprint((l.memory - first.memory) / int64(n))
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %.1f | %.1f | %s | %.1f | %.1f | %.2f | %.0f | %.2f |\n", l.nodes, l.nodes*l.ppn, l.descriptors,
			float64(l.memory)/1e6, float64(l.bound())/1e6, more, l.cpu.Seconds()*1e3, l.cpu.Seconds()*1e6/float64(l.nodes), l.wall.Seconds(),
			float64(l.agentMemory)/1e3/float64(l.agents), l.agentCPU.Seconds()*1e3/float64(l.agents))
	}
	if len(all) > 0 {
		b.WriteString("\n")
	}
	for i, l := range all {
		if i+1 == len(all) || all[i+1].ppn != l.ppn {
			b.WriteString(beyond(all[slices.IndexFunc(all, func(x load) bool { return x.ppn == l.ppn })], l))
		}
	}
	return b.String()
}

// beyond tells the number of nodes from which on golaunch would take more memory than
// it may, if that grows as between two jobs of as many ranks per node.
func beyond(first, last load) string {
	if last.nodes == first.nodes {
		return ""
	}
	grows := float64(last.memory-first.memory) / float64(last.nodes-first.nodes)
	may := boundPerNode + boundPerRank*float64(last.ppn)
	if grows <= may {
		return fmt.Sprintf("With %d per node memory grows no faster than it may.\n", last.ppn)
	}
	n := (boundMemory - float64(first.memory) + grows*float64(first.nodes)) / (grows - may)
	return fmt.Sprintf("With %d per node it would take more memory than it may from about %d nodes on.\n", last.ppn, int(n))
}
