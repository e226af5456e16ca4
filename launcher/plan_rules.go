package launcher

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/pmi"
)

// rules are the user's wishes for the places of ranks, for package placement.
type rules struct {
	rule          placement.Rule // that a program brings along; nil for wish's
	wish          placement.Wish
	network       hostNetwork
	hosts         []job.Host // of apps that have none of their own
	open          bool       // the user gave no number of ranks
	ppn           int        // ranks per host; 0 where not given
	slotted       bool       // some host was given slots; the others have one
	oversubscribe bool
	stdin         StdinTarget
}

// newRules returns those of the options, for a job on hosts.
func newRules(o *Options, hosts []job.Host) (rules, error) {
	wish, err := o.Placement.Wish.At(hosts)
	if err != nil {
		return rules{}, fmt.Errorf("--map-by: %w", err)
	}
	return rules{
		rule:          o.Placement.Rule,
		wish:          wish,
		hosts:         o.Hosts.List,
		open:          o.Programs.Apps[0].N == 0, // Validate: it is the only one
		ppn:           o.Placement.PPN,
		slotted:       slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Slots > 0 }),
		oversubscribe: o.Placement.Oversubscribe,
		stdin:         o.Input.Stdin,
	}, nil
}

// slots returns the slots of a host, one if it was given none.
func slots(h job.Host) int { return max(h.Slots, 1) }

// room returns the number of ranks that a host takes in its turn.
func (r rules) room(h job.Host) int {
	if r.ppn > 0 {
		return r.ppn
	}
	return slots(h)
}

// follows reports whether the number of ranks follows the live hosts: it was neither
// given nor added up from slots.
func (r rules) follows() bool { return r.open && !r.slotted }

// input describes some of the hosts to place ranks on. used counts the ranks that each
// holds; nil for none.
func (r rules) input(hosts []job.Host, some []job.HostIndex, used []int) *placement.Input {
	in := &placement.Input{Hosts: make([]placement.Host, len(some)), PPN: r.ppn, Oversubscribe: r.oversubscribe}
	for i, h := range some {
		in.Hosts[i] = placement.Host{Host: hosts[h], Index: h}
		if r.slotted {
			in.Hosts[i].Slots = slots(hosts[h])
		}
		if used != nil {
			in.Hosts[i].Used = used[h]
		}
	}
	in.Network = r.network.among(hosts, some)
	return in
}

// job returns the input for the ranks of apps; open leaves their number to the rule.
func (r rules) job(apps []job.App, open bool, hosts []job.Host, some []job.HostIndex) *placement.Input {
	in := r.input(hosts, some, nil)
	if !open {
		for _, a := range apps {
			in.Apps = append(in.Apps, a.N)
		}
	}
	return in
}

// place places the ranks of in.
func (r rules) place(in *placement.Input) (*placement.Placed, error) {
	if r.rule == nil {
		return r.wish.Place(in)
	}
	blocks, err := placement.Place(r.rule, in)
	return &placement.Placed{Blocks: blocks}, err
}

// chosen is place without the time of a map: the hosts of the ranks are right, and on
// each their number.
func (r rules) chosen(in *placement.Input) (*placement.Placed, error) {
	if r.rule != nil {
		return r.place(in)
	}
	blocks, err := r.wish.Chosen(in)
	return &placement.Placed{Blocks: blocks}, err
}

// spawn returns the blocks of a command's processes on some of the hosts, and their
// number: fewer than it asks for, if it allows that.
func (r rules) spawn(c *pmi.Command, hosts []job.Host, some []job.HostIndex, used []int) (int, []job.Block, error) {
	rule := placement.ForSpawn()
	in := r.input(hosts, some, used)
	n := c.Procs
	in.Apps = []int{n}
	blocks, err := placement.Place(rule, in)
	var short *placement.ShortError
	if !errors.As(err, &short) {
		return n, blocks, err
	}
	n, ok := c.Hints.Most(min(c.Procs, short.Free))
	if !ok {
		return 0, nil, fmt.Errorf("not enough free slots: %s of %s, %s on %s; give more slots (host:N) or hosts, or --oversubscribe",
			count(c.Procs, "process", "processes"), c.Exec, plural(short.Free, "free slot"), plural(short.Hosts, "host"))
	}
	in.Apps = []int{n}
	blocks, err = placement.Place(rule, in)
	return n, blocks, err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
