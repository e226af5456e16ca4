package placement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

// seats is the rule that has a host for each rank, as the user has listed them.
type seats struct {
	from  string                // source, for errors
	hosts []string              // of each rank
	pos   func(rank int) string // position in the source
	exact bool                  // no fewer ranks than are listed
}

// seatsOf resolves a rank file: hosts are those of the job, in the user's order.
func seatsOf(f *rankfile.File, hosts []job.Host) (*seats, error) {
	known := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		known[h.Name] = true
	}
	s := &seats{from: f.Name, hosts: make([]string, len(f.Of)), pos: f.Pos, exact: true}
	for rank := range s.hosts {
		line := f.Line(rank)
		switch {
		case line.Host == "" && line.Index >= len(hosts):
			return nil, fmt.Errorf("%s: +n%d: the job has %s, +n0 to +n%d", f.Pos(rank), line.Index, plural(len(hosts), "host"), len(hosts)-1)
		case line.Host == "":
			s.hosts[rank] = hosts[line.Index].Name
		case !known[line.Host]:
			return nil, fmt.Errorf("%s: host %s is not one of the job's; name it in -H or -f", f.Pos(rank), line.Host)
		default:
			s.hosts[rank] = line.Host
		}
	}
	return s, nil
}

// inSequence puts rank i on the i-th of names, or of the hosts where there are none.
func inSequence(names []string, hosts []job.Host) *seats {
	if names == nil {
		for _, h := range hosts {
			names = append(names, h.Name)
		}
	}
	return &seats{from: "the list of hosts", hosts: names, pos: func(int) string { return "seq" }}
}

// named returns the hosts of in that a rank is on.
func (s *seats) named(in *Input) []int {
	n := min(in.ranks(len(s.hosts)), len(s.hosts))
	wanted := make(map[string]bool, len(in.Hosts))
	for _, name := range s.hosts[:n] {
		wanted[name] = true
	}
	var out []int
	for i := range in.Hosts {
		if wanted[in.Hosts[i].Name] {
			out = append(out, i)
		}
	}
	return out
}

// Place puts ranks of listed hosts that are not among in's on hosts that nobody has
// listed, one for one, and where there is none in free slots.
func (s *seats) Place(in *Input) ([]Run, error) {
	if in.PPN > 0 {
		return nil, errors.New("each rank has its host already; leave --ppn out")
	}
	n := in.ranks(len(s.hosts))
	switch {
	case n > len(s.hosts) && s.exact:
		return nil, fmt.Errorf("%s: rank %d has no line: the job has %s", s.from, len(s.hosts), plural(n, "rank"))
	case n > len(s.hosts):
		return nil, fmt.Errorf("%s ends after rank %d: the job has %s; name more, a host as often as it is to hold ranks", s.from, len(s.hosts)-1, plural(n, "rank"))
	case n < len(s.hosts) && s.exact:
		return nil, fmt.Errorf("%s: rank %d: the job has ranks 0 to %d", s.pos(n), n, n-1)
	}
	at := make(map[string]int, len(in.Hosts))
	for i := range in.Hosts {
		at[in.Hosts[i].Name] = i
	}
	standIns := s.standIns(in, at, n)
	hosts, held := make([]int, n), make([]int, len(in.Hosts))
	for rank, name := range s.hosts[:n] {
		h, listed := at[name]
		if !listed {
			var ok bool
			if h, ok = standIns[name]; !ok {
				hosts[rank] = -1
				continue
			}
		}
		slots := in.Hosts[h].Slots
		switch full := slots > 0 && held[h] >= slots && !in.Oversubscribe; {
		case full && !listed:
			hosts[rank] = -1
			continue
		case full:
			return nil, fmt.Errorf("%s: rank %d is one more than the %s of host %s; give it more slots (host:N), or --oversubscribe",
				s.pos(rank), rank, plural(slots, "slot"), in.Hosts[h].Name)
		}
		hosts[rank] = h
		held[h]++
	}
	if err := s.seatRest(in, hosts, held); err != nil {
		return nil, err
	}
	return Fold(hosts), nil
}

// standIns returns the hosts that nobody has listed, in place of those that are not
// there.
func (s *seats) standIns(in *Input, at map[string]int, n int) map[string]int {
	listed := map[string]bool{}
	var gone []string
	for _, name := range s.hosts[:n] {
		if _, ok := at[name]; !ok && !listed[name] {
			gone = append(gone, name)
		}
		listed[name] = true
	}
	by := map[string]int{}
	for i := range in.Hosts {
		if len(by) < len(gone) && !listed[in.Hosts[i].Name] {
			by[gone[len(by)]] = i
		}
	}
	return by
}

// seatRest gives ranks without a host to those that hold the fewest, in their slots.
func (s *seats) seatRest(in *Input, hosts, held []int) error {
	rest := 0
	for _, h := range hosts {
		if h < 0 {
			rest++
		}
	}
	if rest == 0 {
		return nil
	}
	with := *in
	with.Hosts, with.Apps, with.PPN = slices.Clone(in.Hosts), []int{rest}, 0
	for i := range with.Hosts {
		with.Hosts[i].Used = held[i]
	}
	runs, err := freeRule{}.Place(&with)
	if err != nil {
		return fmt.Errorf("%s lists hosts that are not there: %w", s.from, err)
	}
	rank := 0
	for _, r := range runs {
		for range r.Count {
			for hosts[rank] >= 0 {
				rank++
			}
			hosts[rank] = r.Host
		}
	}
	return nil
}
