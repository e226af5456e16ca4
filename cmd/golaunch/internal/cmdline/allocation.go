package cmdline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// allocation lists the hosts that a resource manager or an operator has given to the job in
// which golaunch runs.
type allocation struct {
	hosts      []job.Host
	sshOptions []string
}

// readAllocation reads the allocation around golaunch; it has no hosts outside of one.
// Errors name the flags that do without one.
func (h *Held) readAllocation(m machine.Machine, tell Teller) (a allocation, err error) {
	given, err := hostlist.Allocated(hostlist.Environment{Getenv: m.Variable, Read: m.Read})
	if a.hosts = given.Hosts; err == nil && len(a.hosts) == 0 {
		a, err = h.operatorHosts(m, tell)
	}
	if n, _ := strconv.Atoi(m.Variable("SLURM_STEP_NUM_TASKS")); n > 1 && m.Variable("SLURM_PROCID") == "0" && len(a.hosts) > 0 {
		tell(0, "srun runs %d golaunch beside each other, each of which starts all ranks of a job of its own: leave srun out, or give it -n1", n)
	}
	switch {
	case err != nil:
		return a, fmt.Errorf("%w; name the hosts with --hosts instead", err)
	case given.Manager != "" && len(a.hosts) == 0:
		tell(0, "this is a job of %s, which does not tell its hosts here: all ranks run on this machine; name the hosts with %s",
			given.Manager, given.Hint)
	}
	skip := h.line.Relative
	if skip > 0 && skip >= len(a.hosts) {
		return a, fmt.Errorf("-r %d: the allocation has %s, of which the first is 0", skip, hostCount(a.hosts))
	}
	a.hosts = a.hosts[skip:]
	return a, nil
}

// Allocated returns the hosts of the allocation around golaunch.
func Allocated(m machine.Machine, tell Teller) ([]job.Host, error) {
	h := Held{values: newValues()}
	a, err := h.readAllocation(m, tell)
	return a.hosts, err
}

// shared returns the allocation around golaunch, in which other golaunch may be; nil
// outside of one, with --overlap, and in a rank of another golaunch, which runs in the
// slots of that. If its hosts can't be read, which are named then, nobody else counts.
func (h *Held) shared(m machine.Machine) *launcher.Allocation {
	if h.overlap || h.here() || m.Variable("GOLAUNCH_JOB") != "" {
		return nil
	}
	given, err := hostlist.Allocated(hostlist.Environment{Getenv: m.Variable, Read: m.Read})
	if err != nil || given.ID == "" {
		return nil
	}
	a := &launcher.Allocation{Manager: given.Manager, ID: given.ID, Slots: map[string]int{}}
	for _, host := range given.Hosts {
		a.Slots[host.Name] = host.Slots
	}
	return a
}

// untoldSlots has the ranks of a job of Slurm be as many as it has tasks, where it does not
// tell of the slots of its hosts, as with sbatch -m arbitrary.
func (h *Held) untoldSlots(r room, m machine.Machine, tell Teller) room {
	n, _ := strconv.Atoi(m.Variable("SLURM_NTASKS"))
	if slotted(r.hosts) || h.listed() || len(r.hosts) == 0 || len(r.apps) > 1 || r.apps[0].N > 0 || r.ppn > 0 || n < 1 ||
		!m.InSlurm() || inStep(m) || h.line.BeginsWith(&dialects.Srun) {
		return r
	}
	r.apps[0].N = n
	tell(0, "SLURM_TASKS_PER_NODE does not say how many ranks each host holds: the %d of SLURM_NTASKS are spread evenly", n)
	return r
}

// inStep reports whether golaunch runs in a step of srun's. The step that is salloc's
// shell is none: its variables are the job's.
func inStep(m machine.Machine) bool {
	id := m.Variable("SLURM_STEP_ID")
	return id != "" && id != hostlist.InteractiveStep
}

// onNodes takes --nodes of an allocation's hosts, or of those named, the first, as srun
// means it, and as many more as there are spares. The others may replace dead ones.
func (h *Held) onNodes(r room) (room, error) {
	have, spares := hostCount(r.hosts), h.Hosts.Spares
	switch {
	case r.nodes+spares > len(r.hosts) && spares > 0 && r.nodes <= len(r.hosts):
		return r, fmt.Errorf("--nodes: %d and %s are more than the %s; name more, or lower one of them", r.nodes, count(spares, "spare"), have)
	case r.nodes > len(r.hosts) && h.listed():
		return r, fmt.Errorf("--nodes: %d are more than the %s named; name more, or leave it out", r.nodes, have)
	case r.nodes > len(r.hosts):
		return r, fmt.Errorf("--nodes: %d are more than the %s of the allocation; for nodes of this machine say --bootstrap %s, too",
			r.nodes, have, registry.Local().Name)
	}
	all := slices.Clone(r.hosts)
	if h.networked() { // the network orders them later: the user means the first of the list
		all = all[:r.nodes+spares]
	}
	r.hosts, r.rankHosts, r.nodes = spread(all, r.nodes, r), r.nodes, 0
	return r, nil
}

// spread returns hosts with the slots of the first n, which are to hold the ranks, as
// placement.SpreadSlots has them; if these are spread evenly, those of the others, too.
func spread(hosts []job.Host, n int, r room) []job.Host {
	ranks := 0
	for _, a := range r.apps {
		ranks += a.N
	}
	if ranks == 0 || r.ppn > 0 {
		return hosts
	}
	slots := make([]int, len(hosts))
	for i, h := range hosts {
		slots[i] = h.Slots
	}
	if placement.SpreadSlots(ranks, slots[:n]) {
		clear(slots)
	}
	for i := range hosts {
		hosts[i].Slots = slots[i]
	}
	return hosts
}
