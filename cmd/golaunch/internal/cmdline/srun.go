package cmdline

import (
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement"
)

// srunNodes chooses the hosts of an allocation that srun would: the ranks are as many as
// its variable says, or one on each node, they are spread over all nodes, and -w names
// some that are among these.
func (h *Held) srunNodes(r room, excluded []job.Host, m machine.Machine, tell Teller) (room, error) {
	if h.here() || !m.InSlurm() {
		return r, nil
	}
	if h.mapBy == placement.Seq && h.line.IsOf(&dialects.Srun) {
		if !h.listed() { // they are in that order
			return r, nil
		}
		all, err := h.readAllocation(m, tell)
		r.hosts = inOrderOf(all.hosts, r.hosts)
		return r, err
	}
	if !h.line.BeginsWith(&dialects.Srun) || h.hostfile != "" || h.mapBy == placement.Seq || m.HetSize() > 1 || len(r.apps) > 1 {
		return r, nil
	}
	hosts, wanted := r.hosts, []job.Host(nil)
	if len(h.hosts) > 0 {
		wanted = r.hosts
		all, err := h.readAllocation(m, tell)
		if err == nil {
			hosts, err = without(all.hosts, excluded)
		}
		if err != nil {
			return r, err
		}
		outside := slices.ContainsFunc(wanted, func(w job.Host) bool { return !among(hosts, w.Name) })
		if outside || h.line.RankMap != "" || len(hosts) == 0 {
			return r, nil
		}
	}
	ranks, nodes := srunCounts(r, len(hosts), m)
	r.hosts = hosts
	if len(h.hosts) > 0 {
		nodes = max(nodes, len(wanted))
		r.hosts = including(hosts, wanted, nodes)
	}
	if r.apps[0].N = ranks; ranks > 0 {
		r.ppn = 0 // srun has it for the most that a node takes, or passes it over
	}
	if (h.mapBy == "" || h.mapBy == placement.Slot) && nodes <= len(r.hosts) {
		r.nodes = nodes
	}
	return r, nil
}

// srunCounts returns the ranks, 0 where --ntasks-per-node sets their number, and the
// nodes of so many hosts that srun would have.
func srunCounts(r room, hosts int, m machine.Machine) (ranks, nodes int) {
	if ranks = r.apps[0].N; ranks == 0 {
		ranks, _ = strconv.Atoi(m.Variable("SLURM_NTASKS")) // 0 where it is not told
	}
	switch nodes = r.nodes; {
	case nodes == 0 && ranks > 0:
		nodes = min(ranks, hosts)
	case nodes == 0:
		nodes = hosts
	}
	if ranks == 0 && r.ppn == 0 {
		ranks = nodes
	}
	return ranks, nodes
}

// inOrderOf puts hosts in the order of the allocation, not of their ranks: others come
// after its own.
func inOrderOf(all, hosts []job.Host) []job.Host {
	place := func(h job.Host) int {
		if i := slices.IndexFunc(all, func(a job.Host) bool { return a.Name == h.Name }); i >= 0 {
			return i
		}
		return len(all)
	}
	return slices.SortedStableFunc(slices.Values(hosts), func(a, b job.Host) int { return place(a) - place(b) })
}

// including returns the first n of hosts that have wanted among them, in their order,
// and the others behind.
func including(hosts, wanted []job.Host, n int) []job.Host {
	others := n - len(wanted)
	var chosen, rest []job.Host
	for _, h := range hosts {
		switch is := among(wanted, h.Name); {
		case is:
			chosen = append(chosen, h)
		case others > 0:
			others--
			chosen = append(chosen, h)
		default:
			rest = append(rest, h)
		}
	}
	return append(chosen, rest...)
}
