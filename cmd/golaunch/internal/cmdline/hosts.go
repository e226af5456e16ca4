package cmdline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// room has the hosts of a job, and its share of them.
type room struct {
	hosts []job.Host
	// sequence has the names of --hosts or --hostfile, one for each mention.
	sequence []string
	apps     []job.App // with their ranks, and the hosts of their own
	ppn      int
	// nodes are made of this machine, rankHosts are the first of hosts, for ranks.
	nodes, rankHosts int
	allocation       *launcher.Allocation
	sshOptions       []string // of an operator
}

// noRoom returns the room without hosts.
func (h *Held) noRoom() room {
	return room{apps: slices.Clone(h.apps), ppn: h.Placement.PPN, nodes: h.Hosts.Nodes}
}

// findRoom finds the hosts: those of --hosts, --hostfile or, if none of the flags says where
// to run, a resource manager's allocation; and how much of them the job has.
func (h *Held) findRoom(m machine.Machine, tell Teller) (r room, err error) {
	if r, err = h.named(m); err != nil {
		return r, err
	}
	if len(r.hosts) == 0 && !h.here() {
		given, err := h.readAllocation(m, tell)
		if err != nil {
			return r, err
		}
		r.hosts, r.sshOptions = given.hosts, given.sshOptions
	}
	if len(r.hosts) == 0 {
		if err := h.wordsAreHosts(m); err != nil {
			return r, err
		}
	}
	if r, err = h.ownHosts(r, m); err != nil {
		return r, err
	}
	if len(r.hosts) == 0 && r.nodes > 1 && h.line.Nodes != "" && !h.here() {
		if err := h.nodesHere(r.nodes, tell); err != nil {
			return r, err
		}
	}
	excluded, err := h.excluded()
	if err != nil {
		return r, err
	}
	if r, err = h.leaveOut(r, excluded, tell); err != nil {
		return r, err
	}
	r = h.untoldSlots(r, m, tell)
	if r, err = h.srunNodes(r, excluded, m, tell); err != nil {
		return r, err
	}
	if len(r.hosts) > 0 {
		r.allocation = h.shared(m)
	}
	apart := slices.ContainsFunc(r.apps, func(a job.App) bool { return len(a.Hosts) > 0 })
	if apart || len(r.hosts) == 0 || r.nodes == 0 || h.here() {
		return r, nil
	}
	return h.onNodes(r)
}

// named returns the room of hosts that the flags name, of none if these name none.
func (h *Held) named(m machine.Machine) (room, error) {
	r := h.noRoom()
	file, err := h.hostsOf(h.appValues, m)
	r.hosts, r.sequence = file.Hosts, file.Names
	return r, err
}

// hostsOf returns the hosts that the flags of an app name.
func (h *Held) hostsOf(a appValues, m machine.Machine) (hostlist.File, error) {
	file, err := Named(a.hosts, a.hostfile, m)
	if err == nil && file.Capped != "" && h.Placement.Oversubscribe {
		err = fmt.Errorf("%s: max_slots forbids --oversubscribe; leave one out", file.Capped)
	}
	return file, err
}

// Named returns the hosts of a list, or of a file, none if there is neither.
func Named(list []string, name string, m machine.Machine) (file hostlist.File, err error) {
	switch {
	case len(list) > 0 && name != "":
		return file, errBothHosts
	case len(list) > 0:
		text := strings.Join(list, ",")
		file.Hosts, file.Names, err = hostlist.ParseNames(text, "-H")
		if err != nil && strings.Contains(text, "/") {
			err = fmt.Errorf("%w; a host file goes with -f", err)
		}
	case name != "":
		err = m.Read(name, func(r io.Reader) (err error) {
			file, err = hostlist.ParseFile(r, name)
			return err
		})
	}
	return file, err
}

var errBothHosts = errors.New("--hosts and --hostfile exclude each other; name all hosts in one")

// ownHosts gives apps after the first the hosts that they have of their own.
func (h *Held) ownHosts(r room, m machine.Machine) (room, error) {
	for i, own := range h.own {
		if i == 0 {
			continue
		}
		if own.hostfile == "-" {
			return r, fmt.Errorf("app %d: -f -: standard input can be the host file of the first app alone; name a file", i)
		}
		file, err := h.hostsOf(own, m)
		if err != nil {
			return r, fmt.Errorf("app %d: %w", i, err)
		}
		r.apps[i].Hosts = file.Hosts
	}
	return r, nil
}

// nodesHere explains the nodes of another launcher's line where no hosts are
// known: as srun's they are all this machine; as torchrun's, of which each has its
// devices, they are refused.
func (h *Held) nodesHere(n int, tell Teller) error {
	if h.line.IsOf(&dialects.Torchrun) {
		return fmt.Errorf("%s: no hosts are named, and this is no allocation; name them with -H or -f, or say --bootstrap %s for %d nodes of this machine",
			h.line.Nodes, registry.Local().Name, n)
	}
	tell(0, "%s: no hosts are named, and this is no allocation: the %d nodes are all this machine; name hosts with -H or -f", h.line.Nodes, n)
	return nil
}

// wordsAreHosts answers a line that names hosts as with mpirun_rsh: one word for each
// rank, and variables, before the program. They are taken for that only if this machine
// would run the first of them and has no such program, but the one after them; a single
// word is rather one that is misspelt.
func (h *Held) wordsAreHosts(m machine.Machine) error {
	a := h.apps[0]
	setsPath := slices.ContainsFunc(slices.Concat(h.genv, a.Env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	elsewhere := setsPath || h.envNone || a.DirGiven || len(h.Boot.Stage) > 0 // the ranks find other programs
	if elsewhere || a.N < 2 || len(a.Argv) <= a.N || m.HasProgram(a.Argv[0]) {
		return nil
	}
	names, rest := strings.Join(a.Argv[:a.N], ","), a.Argv[a.N:]
	if strings.ContainsAny(names, "/=[") {
		return nil
	}
	if _, err := hostlist.Parse(names, "-H"); err != nil {
		return nil //nolint:nilerr // the words are no hosts, which is no error
	}
	instead := fmt.Sprintf("golaunch -n %d -H %s", a.N, names)
	for ; len(rest) > 1 && strings.Contains(rest[0], "="); rest = rest[1:] {
		instead += " -x " + rest[0]
	}
	if !m.HasProgram(rest[0]) {
		return nil
	}
	return fmt.Errorf("program not found: %s; hosts are named with -H, as in %s %s", a.Argv[0], instead, strings.Join(rest, " "))
}

// slotted reports whether any host has slots.
func slotted(hosts []job.Host) bool {
	return slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Slots > 0 })
}

// among reports whether a host of a name is one of some.
func among(hosts []job.Host, name string) bool {
	return slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Name == name })
}

// hostCount renders a number of hosts.
func hostCount(hosts []job.Host) string { return count(len(hosts), "host") }

// count renders a number and a word.
func count(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}
