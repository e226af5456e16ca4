package cmdline

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// A Note is a line for users with a --verbose of at least Level.
type Note struct {
	Level int
	Text  string
}

// A Teller takes a note.
type Teller func(level int, format string, args ...any)

// Settled is a job with its hosts, and the wish for the places of its ranks.
type Settled struct {
	Notes []Note

	held Held
	dir  string
	room room
	wish placement.Wish
}

func (s *Settled) tell(level int, format string, args ...any) {
	s.Notes = append(s.Notes, Note{level, fmt.Sprintf(format, args...)})
}

// Settle finds the hosts of the job, and the rule by which ranks are placed on them.
func (h Held) Settle(m machine.Machine) (s Settled, err error) {
	s.held = h
	if err := h.Check(); err != nil {
		return s, err
	}
	d, err := h.slurmDistribution(m, s.tell)
	if err != nil {
		return s, err
	}
	h.hostfile, h.mapBy, h.rankBy = d.hostfile, d.mapBy, d.rankBy
	rule, value, err := h.rule()
	if err != nil {
		return s, err
	}
	for _, note := range h.line.Notes {
		s.tell(1, "%s", flags.Printable(note))
	}
	if err := s.settleHosts(h, m); err != nil {
		return s, err
	}
	h.tellHabits(s.room, d.pack, s.tell)
	if rule == "" {
		rule = habitualRule(h.line, s.room, h.rankBy)
	}
	s.wish, err = h.wish(rule, value, s.room.sequence, m, s.tell)
	return s, err
}

// SettleHosts finds the hosts of the job; the rule is the default.
func (h Held) SettleHosts(m machine.Machine) (s Settled, err error) {
	if err = h.checkUses(); err == nil {
		err = s.settleHosts(h, m)
	}
	s.wish = h.Placement.Wish
	return s, err
}

// SettleNowhere leaves hosts and rule open.
func (h Held) SettleNowhere(m machine.Machine) (s Settled, err error) {
	s.held, s.room, s.wish = h, h.noRoom(), h.Placement.Wish
	if err = h.checkUses(); err == nil {
		s.dir, err = workingDir(m)
	}
	return s, err
}

func (s *Settled) settleHosts(h Held, m machine.Machine) (err error) {
	s.held = h
	if s.dir, err = workingDir(m); err != nil {
		return err
	}
	s.room, err = h.findRoom(m, s.tell)
	return err
}

func workingDir(m machine.Machine) (string, error) {
	dir, err := m.Dir()
	if err != nil {
		return "", fmt.Errorf("the working directory is unusable: %w; change to another", err)
	}
	return dir, nil
}

// Check refuses flags that exclude each other, or have no effect, before files are read.
func (h *Held) Check() error {
	err := h.checkUses()
	if err == nil {
		_, _, err = h.rule()
	}
	return err
}

// checkUses is Check for those who place ranks themselves.
func (h *Held) checkUses() error {
	if err := conflict(h.job); err != nil {
		return err
	}
	if h.given("profile-what") && h.Report.ProfileFile == "" {
		return errors.New("--profile-what: nothing is counted without --profile FILE")
	}
	return nil
}

// EnvGiven has the variables of --genv, NAME=value.
func (h *Held) EnvGiven() (env []string) {
	for _, kv := range h.genv {
		env = setVariable(env, kv)
	}
	return env
}

// Options translates the job for the launcher, without the network.
func (s *Settled) Options(m machine.Machine) launcher.Options {
	o, h := s.held.Options, &s.held
	o.Programs.Apps, o.Programs.Dir, o.Programs.EnvGiven = s.room.apps, s.dir, h.EnvGiven()
	if h.envNone {
		o.Launch.EnvFrom = environ.Launcher
	} else {
		o.Programs.Env = environ.Inherited(m.Environ)
	}
	findMPI(h.mpi).set(&o)

	o.Boot.Environ = m.Environ
	o.Boot.Values = bootValues(h.Boot.Values, s.room.sshOptions, registry.Given(o.Boot.Bootstrap, m.Environ))
	o.Hosts.List, o.Hosts.Nodes, o.Hosts.RankHosts = s.room.hosts, s.room.nodes, s.room.rankHosts
	o.Hosts.Allocation = s.room.allocation
	o.Placement.PPN, o.Placement.Wish = s.room.ppn, s.wish
	return o
}

// Network has the flags of the network between the hosts.
type Network struct {
	Topology, MapFile, Hostfile string
	// TopologyGiven and MapGiven say that the line has these flags: a site's variable
	// suits not every job.
	TopologyGiven, MapGiven bool
}

// Network has the flags of the network between the hosts.
func (h *Held) Network() Network {
	return Network{h.topology, h.mapFile, h.hostfile, h.given("topology"), h.given("map")}
}

// Verbose returns the value of --verbose.
func (h *Held) Verbose() int { return h.Start.Verbose }

// Quiet reports whether notes are not to be printed.
func (h *Held) Quiet() bool { return h.Report.Quiet }
