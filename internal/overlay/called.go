package overlay

import (
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// hostNames are the names of hosts that a node knows: users know no numbers. Lists are
// kept as they came, and looked through when somebody is to be told of a host.
type hostNames struct {
	entries [][]HostEntry
	nodes   []job.HostIndex // of the first world, ascending
	folded  string          // their names, as hostlist.Fold has them
}

// another stands for a host whose name is not known, or that does not exist.
const another = "another host"

// Call sets the names of hosts. They stay the caller's and may not be changed.
func (w *Worlds) Call(hosts ...HostEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called.entries = append(w.called.entries, hosts)
}

// CallNodes sets the names of the hosts that hold ranks, which ascend, as World.Names
// has them.
func (w *Worlds) CallNodes(nodes []job.HostIndex, names string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called.nodes, w.called.folded = nodes, names
}

// Called returns the user's name of a host.
func (w *Worlds) Called(h job.HostIndex) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.called.entries {
		if i := slices.IndexFunc(list, func(e HostEntry) bool { return e.Index == h }); i >= 0 {
			return list[i].Name
		}
	}
	if n, found := slices.BinarySearch(w.called.nodes, h); found {
		if hosts, err := hostlist.Parse(w.called.folded, ""); err == nil && len(hosts) == len(w.called.nodes) {
			return hosts[n].Name
		}
	}
	return another
}

// called returns the user's name of a host that a child speaks of.
func (o *Origin) called(h job.HostIndex) string {
	if o.ranksOf == nil {
		return another
	}
	return o.ranksOf.Called(h)
}
