package main

import (
	"io"
	"slices"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/placement"
)

// What other launchers do where their lines say nothing, if golaunch does otherwise. It
// holds for lines that begin with their name, and gives way to every flag and variable.

// isLineOf tells whether the line is one of a tool's.
func (c *commandLine) isLineOf(t *tool) bool { return slices.Contains(c.lineOf, t) }

// beginsWith tells whether the line is one of a tool's and begins with its name.
func (c *commandLine) beginsWith(t *tool) bool { return c.asked && c.isLineOf(t) }

// habits sets flags that the line left alone as its launcher has them.
func (c *commandLine) habits() {
	if !c.beginsWith(&srunTool) {
		return
	}
	c.SlurmNames = true
	if !c.flags.Changed("stdin") && !c.PTY && !c.Singleton {
		c.Stdin = launcher.StdinAll
	}
	if !c.flags.Changed("err") {
		c.ErrPattern = c.OutPattern
	}
}

// habitualNodes sets the number of hosts that srun uses of an allocation where it is not
// told: all, as far as the ranks go.
func (c *commandLine) habitualNodes(o *launcher.Options, hostsNamed bool) {
	if !c.beginsWith(&srunTool) || hostsNamed || o.Nodes > 0 || o.PPN > 0 || c.mapBy != "" || len(o.Hosts) < 2 {
		return
	}
	ranks := 0
	for _, a := range o.Apps {
		ranks += a.N
	}
	o.Nodes = min(ranks, len(o.Hosts))
}

// habitualRule is the rule of placement of a launcher that deals ranks to hosts in turn
// where the hosts have no slots, "" where golaunch's own default holds. mpirun_rsh goes
// by the list of hosts, in which a host may be several times.
func (c *commandLine) habitualRule(o *launcher.Options) string {
	slotted := slices.ContainsFunc(o.Hosts, func(h job.Host) bool { return h.Slots > 0 })
	switch {
	case len(o.Hosts) < 2 || o.PPN > 0 || c.rankBy != "":
		return ""
	case c.beginsWith(&rshTool) && len(o.Apps) == 1 && len(c.sequence) > len(o.Hosts) && o.Apps[0].N <= len(c.sequence):
		return placement.Seq
	case !slotted && (c.beginsWith(&hydraTool) || c.beginsWith(&rshTool)):
		return placement.Node
	}
	return ""
}

// tellHabits says what a line may have meant that golaunch can't know.
func (c *commandLine) tellHabits(w io.Writer, o *launcher.Options) {
	if addr := variable(o.EnvGiven, "MASTER_ADDR"); c.isLineOf(&torchrunTool) && len(o.Hosts) > 1 && c.mapBy == "" {
		if i := slices.IndexFunc(o.Hosts, func(h job.Host) bool { return h.Name == addr }); i > 0 {
			c.tell(w, 0, "--master-addr: rank 0 is on %s, and ranks are told to meet on %s: leave it out, or name that host first", o.Hosts[0].Name, addr)
		}
	}
	open := o.Apps[0].N == 0 && o.PPN == 0
	if slotted := slices.ContainsFunc(o.Hosts, func(h job.Host) bool { return h.Slots > 0 }); !open || slotted || len(o.Hosts) == 0 {
		return
	}
	if c.beginsWith(&openMPITool) {
		c.tell(w, 0, "Open MPI starts a rank on each core of hosts without slots, golaunch one on each host: say how many with -n, -N or slots=")
	}
}
