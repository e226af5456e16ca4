package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/bootstrap/registry"
	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/launcher"
)

// allocation returns the hosts that a resource manager has given to the job
// golaunch runs in, none outside of one. The error says how to do without. Where
// the manager does not tell them, w does.
func (c *commandLine) allocation(w io.Writer) ([]job.Host, error) {
	getenv := func(name string) string { return variable(c.environ, name) }
	given, err := hostlist.Allocated(hostlist.Environment{
		Getenv: getenv,
		Read:   func(file string, read func(io.Reader) error) error { return withFile(w, file, read) },
	})
	if err == nil && len(given.Hosts) == 0 {
		given.Hosts, err = operatorHosts(w, getenv)
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

// operatorHosts are the hosts of the file that an operator names.
func operatorHosts(w io.Writer, getenv func(string) string) ([]job.Host, error) {
	for _, o := range hostlist.Operators {
		name := getenv(o.Hosts)
		if name == "" {
			continue
		}
		var file hostlist.File
		err := withFile(w, name, func(r io.Reader) (err error) {
			file, err = hostlist.ParseFile(r, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Hosts, err)
		}
		return file.Hosts, nil
	}
	return nil, nil
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
	have := count(len(o.Hosts), "host")
	switch {
	case o.Nodes+o.Spares > len(o.Hosts) && o.Spares > 0 && o.Nodes <= len(o.Hosts):
		return fmt.Errorf("--nodes: %d and %s are more than the %s; name more, or lower one of them", o.Nodes, count(o.Spares, "spare"), have)
	case o.Nodes > len(o.Hosts) && named:
		return fmt.Errorf("--nodes: %d are more than the %s named; name more, or leave it out", o.Nodes, have)
	case o.Nodes > len(o.Hosts):
		return fmt.Errorf("--nodes: %d are more than the %s of the allocation; for nodes of this machine say --bootstrap %s, too",
			o.Nodes, have, registry.Local().Name)
	}
	all := slices.Clone(o.Hosts)
	if ordered { // by the network, later: it is the first of the user's that are meant
		all = all[:o.Nodes+o.Spares]
	}
	spread(all, o.Nodes, o)
	o.Hosts, o.RankHosts, o.Nodes = all, o.Nodes, 0
	return nil
}

// spread sets the slots of the first n hosts, which are to hold the ranks, so that these
// are spread evenly over all of them, or, where slots don't suffice for that, fill them
// one after the other so that each has one at least.
func spread(hosts []job.Host, n int, o *launcher.Options) {
	ranks := 0
	for _, a := range o.Apps {
		ranks += a.N
	}
	if ranks == 0 || o.PPN > 0 {
		return
	}
	each := (ranks + n - 1) / n
	if !slices.ContainsFunc(hosts[:n], func(h job.Host) bool { return h.Slots > 0 && h.Slots < each }) {
		for i := range hosts {
			hosts[i].Slots = 0
		}
		return
	}
	for i, h := range hosts[:n] {
		if after := n - 1 - i; h.Slots > 1 && ranks > after {
			hosts[i].Slots = min(h.Slots, ranks-after)
		}
		ranks -= hosts[i].Slots
	}
}
