package overlay

import (
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// another stands for a host whose name is not known, or that does not exist.
const another = "another host"

// Call sets the names of hosts. They stay the caller's and may not be changed.
func (w *Worlds) Call(hosts ...HostEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.called = append(w.called, hosts)
}

// CallNodes sets the names of the hosts that hold ranks of a job, which ascend, as
// World.Names has them.
func (w *Worlds) CallNodes(n job.Number, nodes []job.HostIndex, names string) {
	p := w.job(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes, p.names = nodes, names
}

// Called returns the user's name of a host.
func (w *Worlds) Called(h job.HostIndex) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.called {
		if i := slices.IndexFunc(list, func(e HostEntry) bool { return e.Index == h }); i >= 0 {
			return list[i].Name
		}
	}
	for _, p := range w.jobs {
		if name, found := p.called(h); found {
			return name
		}
	}
	return another
}

// called returns the user's name of a host that holds ranks. Users know no numbers: names
// are kept as they came, and looked through when somebody is to be told of a host.
func (p *places) called(h job.HostIndex) (name string, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearch(p.nodes, h)
	if !found {
		return "", false
	}
	hosts, err := hostlist.Parse(p.names, "")
	if err != nil || len(hosts) != len(p.nodes) {
		return "", false
	}
	return hosts[i].Name, true
}

// called returns the user's name of a host that a child speaks of.
func (o *Origin) called(h job.HostIndex) string { return o.worlds.Called(h) }
