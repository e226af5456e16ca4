package main

import (
	"io"
	"slices"
	"strconv"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// What other launchers do where their lines say nothing, if golaunch does otherwise. It
// holds for lines that begin with their name, and gives way to every flag and variable.

// isLineOf tells whether the line is one of a tool's.
func (c *commandLine) isLineOf(t *tool) bool { return slices.Contains(c.lineOf, t) }

// beginsWith tells whether the line is one of a tool's and begins with its name.
func (c *commandLine) beginsWith(t *tool) bool { return len(c.asked) > 0 && c.isLineOf(t) }

// habits sets flags that the line left alone as its launcher has them.
func (c *commandLine) habits() {
	switch {
	case c.beginsWith(&srunTool):
		c.srunHabits()
	case c.beginsWith(&openMPITool):
		c.Launch.Names = overlay.OpenMPINames
	case c.beginsWith(&rshTool):
		c.Launch.Names = overlay.MVAPICHNames
	}
	if c.likeOpenMPI() && !c.flags.Changed("unbuffered") {
		c.Launch.Unbuffered = true
	}
	if c.timed {
		switch c.Output.Label {
		case launcher.LabelRank:
			c.Output.Label = "%t [%r] "
		case launcher.LabelHost:
			c.Output.Label = "%t [%r@%h] "
		default:
			c.Output.Label = "%t " + c.Output.Label
		}
	}
	if c.isLineOf(&torchrunTool) {
		standard := []string{"TORCHELASTIC_RUN_ID=none"}
		if c.Ending.Restarts == 0 {
			standard = append(standard, "TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_MAX_RESTARTS=0")
		}
		c.genv = append(standard, c.genv...) // of one name the last counts
	}
}

// likeOpenMPI tells whether the line begins with a command of Open MPI's, and is no other
// launcher's: mpiexec is MPICH's as much, where nothing tells them apart.
func (c *commandLine) likeOpenMPI() bool {
	return c.beginsWith(&openMPITool) || c.calledBy == "mpirun" && c.lineOf == nil
}

func (c *commandLine) srunHabits() {
	c.Launch.Names = overlay.SlurmNames
	if !c.flags.Changed("stdin") && !c.Input.PTY && !c.Programs.Singleton {
		c.Input.Stdin = launcher.StdinAll
	}
	if !c.flags.Changed("err") && !c.errOwn {
		c.Output.ErrPattern = c.Output.OutPattern
	}
	if c.Output.Label == launcher.LabelRank {
		c.Output.Label = "%r: "
	}
}

// srunNodes chooses the hosts of an allocation that srun would: the ranks are as many as
// its variable says, or one on each node, they are spread over all nodes, and -w names
// some that are among these.
func (c *commandLine) srunNodes(w io.Writer, o *launcher.Options) error {
	if c.isLineOf(&srunTool) && c.inSlurm() && c.mapBy == placement.Seq && !c.here() {
		return c.allocationOrder(w, o)
	}
	if !c.beginsWith(&srunTool) || !c.inSlurm() || c.hostfile != "" || c.mapBy == placement.Seq || c.hetSize() > 1 || c.here() || len(o.Programs.Apps) > 1 {
		return nil
	}
	given := o.Hosts.List
	if len(c.hosts) > 0 {
		var err error
		if o.Hosts.List, err = c.allocation(w); err == nil {
			o.Hosts.List, err = without(o.Hosts.List, c.excluded)
		}
		if err != nil {
			return err
		}
		outside := slices.ContainsFunc(given, func(h job.Host) bool { return !named(o.Hosts.List, h.Name) })
		if outside || c.rankMap != "" || len(o.Hosts.List) == 0 {
			o.Hosts.List = given
			return nil
		}
	}
	ranks, nodes := &o.Programs.Apps[0].N, o.Hosts.Nodes
	if *ranks == 0 {
		*ranks, _ = strconv.Atoi(variable(c.environ, "SLURM_NTASKS")) // 0 where it is not told
	}
	switch {
	case nodes == 0 && *ranks > 0:
		nodes = min(*ranks, len(o.Hosts.List))
	case nodes == 0:
		nodes = len(o.Hosts.List)
	}
	if *ranks == 0 && o.Placement.PPN == 0 {
		*ranks = nodes
	}
	if len(c.hosts) > 0 {
		nodes = max(nodes, len(given))
		o.Hosts.List = including(o.Hosts.List, given, nodes)
	}
	if *ranks > 0 {
		o.Placement.PPN = 0 // srun has it for the most that a node takes, or passes it over
	}
	if (c.mapBy == "" || c.mapBy == placement.Slot) && nodes <= len(o.Hosts.List) {
		o.Hosts.Nodes = nodes
	}
	return nil
}

// allocationOrder numbers hosts as the allocation does, whatever the order of their ranks:
// others come after its own.
func (c *commandLine) allocationOrder(w io.Writer, o *launcher.Options) error {
	all, err := c.allocation(w)
	if err != nil {
		return err
	}
	place := func(h job.Host) int {
		if i := slices.IndexFunc(all, func(a job.Host) bool { return a.Name == h.Name }); i >= 0 {
			return i
		}
		return len(all)
	}
	slices.SortStableFunc(o.Hosts.List, func(a, b job.Host) int { return place(a) - place(b) })
	return nil
}

// including is the first n of hosts that have wanted among them, in their order, and the
// others behind.
func including(hosts, wanted []job.Host, n int) []job.Host {
	others := n - len(wanted)
	var chosen, rest []job.Host
	for _, h := range hosts {
		switch is := named(wanted, h.Name); {
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

// habitualRule is the rule of placement of a launcher that deals ranks to hosts in turn
// where the hosts have no slots, "" where golaunch's own default holds. mpirun_rsh goes
// by the list of hosts, in which a host may be several times.
func (c *commandLine) habitualRule(o *launcher.Options) string {
	slotted := slices.ContainsFunc(o.Hosts.List, func(h job.Host) bool { return h.Slots > 0 })
	switch {
	case len(o.Hosts.List) < 2 || o.Placement.PPN > 0 || c.rankBy != "":
		return ""
	case c.beginsWith(&rshTool) && len(o.Programs.Apps) == 1 && len(c.sequence) > len(o.Hosts.List) && o.Programs.Apps[0].N <= len(c.sequence):
		return placement.Seq
	case !slotted && (c.beginsWith(&hydraTool) || c.beginsWith(&rshTool)):
		return placement.Node
	}
	return ""
}

// tellHabits says what a line may have meant that golaunch can't know.
func (c *commandLine) tellHabits(w io.Writer, o *launcher.Options) {
	if addr := variable(o.Programs.EnvGiven, "MASTER_ADDR"); c.isLineOf(&torchrunTool) && len(o.Hosts.List) > 1 && c.mapBy == "" {
		if i := slices.IndexFunc(o.Hosts.List, func(h job.Host) bool { return h.Name == addr }); i > 0 {
			c.tell(w, 0, "--master-addr: rank 0 is on %s, and ranks are told to meet on %s: leave it out, or name that host first", o.Hosts.List[0].Name, addr)
		}
	}
	if program := o.Programs.Apps[0].Argv[0]; len(c.asked) == 0 && len(calledAs(program)) > 0 && c.flags.ArgsLenAtDash() < 0 {
		c.tell(w, 0, "%s is the program here, which each rank starts; write golaunch %s ... for its line to be read, golaunch ... -- %s where the program is meant",
			program, program, program)
	}
	if c.pack != "" {
		c.tell(w, 0, "%s: Pack: ranks are spread over the hosts as without it; -N says over how many", c.pack)
	}
	open := o.Programs.Apps[0].N == 0 && o.Placement.PPN == 0
	if slotted := slices.ContainsFunc(o.Hosts.List, func(h job.Host) bool { return h.Slots > 0 }); !open || slotted || len(o.Hosts.List) == 0 {
		return
	}
	if c.beginsWith(&openMPITool) && c.hostfile != "" {
		c.tell(w, 0, "Open MPI starts a rank on each core of hosts without slots, golaunch one on each host: say how many with -n, -N or slots=")
	}
}
