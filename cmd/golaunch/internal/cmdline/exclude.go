package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// excluded returns the hosts that --exclude names.
func (h *Held) excluded() ([]job.Host, error) {
	if len(h.exclude) == 0 {
		return nil, nil
	}
	list := strings.Join(h.exclude, ",")
	hosts, err := hostlist.Parse(list, "--exclude")
	if err != nil && strings.Contains(list, "/") {
		err = fmt.Errorf("%w; for a file of hosts say --exclude \"$(paste -sd, FILE)\"", err)
	}
	return hosts, err
}

// leaveOut takes hosts out of all apps'.
func (h *Held) leaveOut(r room, excluded []job.Host, tell Teller) (room, error) {
	all := slices.Clone(r.hosts)
	for _, a := range r.apps {
		all = append(all, a.Hosts...)
	}
	switch {
	case len(excluded) == 0, len(all) == 0 && !h.given("exclude"): // a standing setting
		return r, nil
	case len(all) == 0:
		return r, errors.New("--exclude: no hosts are named, and this is no allocation; name the hosts with -H or -f")
	}
	for _, host := range excluded {
		if !among(all, host.Name) && !h.line.BeginsWith(&dialects.Srun) { // srun's -w names some of the allocation
			tell(0, "--exclude: %s is none of the hosts", host.Name)
		}
	}
	var err error
	if r.hosts, err = without(r.hosts, excluded); err != nil {
		return r, err
	}
	for i := range r.apps {
		if r.apps[i].Hosts, err = without(r.apps[i].Hosts, excluded); err != nil {
			return r, err
		}
	}
	r.sequence = slices.DeleteFunc(slices.Clone(r.sequence), func(name string) bool { return among(excluded, name) })
	return r, nil
}

// without returns those hosts that are not left out.
func without(hosts, out []job.Host) ([]job.Host, error) {
	left := slices.DeleteFunc(slices.Clone(hosts), func(h job.Host) bool { return among(out, h.Name) })
	if len(left) == 0 && len(hosts) > 0 {
		return nil, fmt.Errorf("--exclude: it leaves none of %s", hostCount(hosts))
	}
	return left, nil
}
