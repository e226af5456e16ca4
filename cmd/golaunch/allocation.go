package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// shared is the allocation around golaunch, in which other golaunch may be; nil outside of
// one, with --overlap, and in a rank of another golaunch, which runs in the slots of that.
// Where its hosts can't be read, which are named then, nobody else counts.
func (c *commandLine) shared() *launcher.Allocation {
	getenv := func(name string) string { return variable(c.environ, name) }
	if c.overlap || c.here() || getenv("GOLAUNCH_JOB") != "" {
		return nil
	}
	given, err := hostlist.Allocated(hostlist.Environment{
		Getenv: getenv,
		Read:   func(file string, read func(io.Reader) error) error { return files.Read(io.Discard, file, read) },
	})
	if err != nil || given.ID == "" {
		return nil
	}
	a := &launcher.Allocation{Manager: given.Manager, ID: given.ID, Slots: map[string]int{}}
	for _, h := range given.Hosts {
		a.Slots[h.Name] = h.Slots
	}
	return a
}

// untoldSlots has the ranks of a job of Slurm be as many as it has tasks, where it does not
// tell of the slots of its hosts, as with sbatch -m arbitrary.
func (c *commandLine) untoldSlots(w io.Writer, o *launcher.Options) {
	slotted := slices.ContainsFunc(o.Hosts.List, func(h job.Host) bool { return h.Slots > 0 })
	named := len(c.hosts) > 0 || c.hostfile != ""
	step := variable(c.environ, "SLURM_STEP_ID")
	n, _ := strconv.Atoi(variable(c.environ, "SLURM_NTASKS"))
	if slotted || named || len(o.Hosts.List) == 0 || len(o.Programs.Apps) > 1 || o.Programs.Apps[0].N > 0 || o.Placement.PPN > 0 || n < 1 ||
		!c.inSlurm() || step != "" && step != hostlist.InteractiveStep || c.beginsWith(&srunTool) {
		return
	}
	o.Programs.Apps[0].N = n
	c.tell(w, 0, "SLURM_TASKS_PER_NODE does not say how many ranks each host holds: the %d of SLURM_NTASKS are spread evenly", n)
}

// allocation returns the hosts that a resource manager has given to the job
// golaunch runs in, none outside of one. The error says how to do without. Where
// the manager does not tell them, w does.
func (c *commandLine) allocation(w io.Writer) ([]job.Host, error) {
	getenv := func(name string) string { return variable(c.environ, name) }
	given, err := hostlist.Allocated(hostlist.Environment{
		Getenv: getenv,
		Read:   func(file string, read func(io.Reader) error) error { return files.Read(w, file, read) },
	})
	if err == nil && len(given.Hosts) == 0 {
		given.Hosts, err = c.operatorHosts(w, getenv)
	}
	if n, _ := strconv.Atoi(getenv("SLURM_STEP_NUM_TASKS")); n > 1 && getenv("SLURM_PROCID") == "0" && len(given.Hosts) > 0 {
		c.tell(w, 0, "srun runs %d golaunch beside each other, each of which starts all ranks of a job of its own: leave srun out, or give it -n1", n)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; name the hosts with --hosts instead", err)
	case given.Manager != "" && len(given.Hosts) == 0:
		c.tell(w, 0, "this is a job of %s, which does not tell its hosts here: all ranks run on this machine; name the hosts with %s",
			given.Manager, given.Hint)
	}
	if c.relative > 0 && c.relative >= len(given.Hosts) {
		return nil, fmt.Errorf("-r %d: the allocation has %s, of which the first is 0", c.relative, count(len(given.Hosts), "host"))
	}
	return given.Hosts[c.relative:], nil
}

// nodesHere says what becomes of the nodes of another launcher's line where no hosts are
// known: as srun's they are all this machine; as torchrun's, of which each has its
// devices, they are refused.
func (c *commandLine) nodesHere(w io.Writer, n int) error {
	if c.isLineOf(&torchrunTool) {
		return fmt.Errorf("%s: no hosts are named, and this is no allocation; name them with -H or -f, or say --bootstrap %s for %d nodes of this machine",
			c.nodesWord, registry.Local().Name, n)
	}
	c.tell(w, 0, "%s: no hosts are named, and this is no allocation: the %d nodes are all this machine; name hosts with -H or -f", c.nodesWord, n)
	return nil
}

// onNodes takes --nodes of an allocation's hosts, or of those named, the first, as srun
// means it, and as many more as there are spares. The others may replace dead ones.
func onNodes(o *launcher.Options, named, ordered bool) error {
	have := count(len(o.Hosts.List), "host")
	switch {
	case o.Hosts.Nodes+o.Hosts.Spares > len(o.Hosts.List) && o.Hosts.Spares > 0 && o.Hosts.Nodes <= len(o.Hosts.List):
		return fmt.Errorf("--nodes: %d and %s are more than the %s; name more, or lower one of them", o.Hosts.Nodes, count(o.Hosts.Spares, "spare"), have)
	case o.Hosts.Nodes > len(o.Hosts.List) && named:
		return fmt.Errorf("--nodes: %d are more than the %s named; name more, or leave it out", o.Hosts.Nodes, have)
	case o.Hosts.Nodes > len(o.Hosts.List):
		return fmt.Errorf("--nodes: %d are more than the %s of the allocation; for nodes of this machine say --bootstrap %s, too",
			o.Hosts.Nodes, have, registry.Local().Name)
	}
	all := slices.Clone(o.Hosts.List)
	if ordered { // by the network, later: it is the first of the user's that are meant
		all = all[:o.Hosts.Nodes+o.Hosts.Spares]
	}
	spread(all, o.Hosts.Nodes, o)
	o.Hosts.List, o.Hosts.RankHosts, o.Hosts.Nodes = all, o.Hosts.Nodes, 0
	return nil
}

// spread sets the slots of the first n hosts, which are to hold the ranks, as
// placement.SpreadSlots does; where these are spread evenly, those of the others, too.
func spread(hosts []job.Host, n int, o *launcher.Options) {
	ranks := 0
	for _, a := range o.Programs.Apps {
		ranks += a.N
	}
	if ranks == 0 || o.Placement.PPN > 0 {
		return
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
}
