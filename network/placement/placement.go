package placement

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
)

// Host is a host that may get ranks. Slots is the number that it may hold, 0 for any.
type Host struct {
	job.Host
	Index job.HostIndex // its number in blocks
	Used  int           // ranks that it holds already
}

// free counts the slots without a rank.
func (h *Host) free() int { return max(0, h.Slots-h.Used) }

// Input is all that a rule goes by.
type Input struct {
	Hosts []Host // at least one, in the user's order
	// Apps is the number of ranks of each app, in rank order. Nil is one app
	// that leaves its number to the rule.
	Apps          []int
	PPN           int  // ranks per host; 0 where not given
	Oversubscribe bool // hosts may hold more ranks than slots
	// Network is the network between the hosts, nil where it is not known.
	Network *Network
}

// Network is the network between hosts, as far as it is known.
type Network struct {
	Router routing.Router
	Nodes  []topology.Node // node of each host; topology.NoNode if it has none
	From   string          // the user's name of it
}

// ranks counts all ranks; open, if the apps leave their number open.
func (in *Input) ranks(open int) int {
	if in.Apps == nil {
		return open
	}
	n := 0
	for _, app := range in.Apps {
		n += app
	}
	return n
}

// Run is a number of consecutive ranks on one host.
type Run struct {
	Host  int // its position in Input.Hosts
	Count int // at least 1
}

// Rule is one way to place ranks.
type Rule interface {
	// Place returns the runs of all ranks in rank order, or an error with the reason
	// for which they have no place, and advice. The same input gives the same runs; it
	// is left as it is.
	Place(in *Input) ([]Run, error)
}

// Place places the ranks of in by a rule. It returns blocks in rank order, each
// of one app on one host.
func Place(rule Rule, in *Input) ([]job.Block, error) {
	if len(in.Hosts) == 0 {
		return nil, errors.New("no host for any rank")
	}
	runs, err := rule.Place(in)
	if err == nil {
		err = in.check(runs)
	}
	if err != nil {
		return nil, err
	}
	return in.blocks(runs), nil
}

// check refuses runs that no rule may return.
func (in *Input) check(runs []Run) error {
	counts := make([]int, len(in.Hosts))
	n := 0
	for _, r := range runs {
		if r.Host < 0 || r.Host >= len(in.Hosts) || r.Count < 1 {
			return fmt.Errorf("placement: %s on host %d of %d", plural(r.Count, "rank"), r.Host, len(in.Hosts))
		}
		counts[r.Host] += r.Count
		n += r.Count
	}
	if want := in.ranks(n); n != want {
		return fmt.Errorf("placement: %d of %s have a host", n, plural(want, "rank"))
	}
	if in.Oversubscribe {
		return nil
	}
	for i, count := range counts {
		if h := &in.Hosts[i]; h.Slots > 0 && count > h.free() {
			return fmt.Errorf("not enough slots on host %s: %s, %s free; give it more slots (host:N), or --oversubscribe",
				h.Name, plural(count, "rank"), plural(h.free(), "slot"))
		}
	}
	return nil
}

// blocks cuts runs where apps begin, and joins those that follow each other.
func (in *Input) blocks(runs []Run) []job.Block {
	out := make([]job.Block, 0, len(runs)+len(in.Apps))
	first, app, left := 0, 0, 0
	if len(in.Apps) > 0 {
		left = in.Apps[0]
	}
	for _, r := range runs {
		for host, count := in.Hosts[r.Host].Index, r.Count; count > 0; {
			n := count
			if in.Apps != nil {
				for left == 0 {
					app++
					left = in.Apps[app]
				}
				n = min(count, left)
				left -= n
			}
			if last := len(out) - 1; last >= 0 && out[last].Host == host && out[last].App == app {
				out[last].Count += n
			} else {
				out = append(out, job.Block{Host: host, First: job.Rank(first), Count: n, App: app})
			}
			first += n
			count -= n
		}
	}
	return out
}

// Fold makes runs of the host of each rank, a position in Input.Hosts.
func Fold(hosts []int) []Run {
	var runs []Run
	for _, h := range hosts {
		if last := len(runs) - 1; last >= 0 && runs[last].Host == h {
			runs[last].Count++
		} else {
			runs = append(runs, Run{Host: h, Count: 1})
		}
	}
	return runs
}
