package launcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement"
)

// apart reports whether some app has hosts of its own.
func apart(apps []job.App) bool {
	return slices.ContainsFunc(apps, func(a job.App) bool { return len(a.Hosts) > 0 })
}

// allHosts returns the job's hosts and the apps' own. The error is that of
// hostlist.Union.
func (o *Options) allHosts() ([]job.Host, error) {
	if !apart(o.Programs.Apps) {
		return o.Hosts.List, nil
	}
	var lists [][]job.Host
	if slices.ContainsFunc(o.Programs.Apps, func(a job.App) bool { return len(a.Hosts) == 0 }) {
		lists = append(lists, o.Hosts.List)
	}
	for _, a := range o.Programs.Apps {
		lists = append(lists, a.Hosts)
	}
	return hostlist.Union(lists...)
}

// checkApart refuses options that exclude hosts of an app's own.
func (o *Options) checkApart() error {
	i := slices.IndexFunc(o.Programs.Apps, func(a job.App) bool { return len(a.Hosts) > 0 })
	if i < 0 {
		return nil
	}
	own := appName(o.Programs.Apps, i) + " has hosts of its own"
	switch rule := strings.TrimSuffix(o.Placement.Wish.Rule, ":"); {
	case o.Hosts.Nodes > 0:
		return fmt.Errorf("--nodes counts hosts of the whole job, and %s; name for each app just those that it is to use", own)
	case o.Hosts.Spares > 0:
		return fmt.Errorf("--spares: %s, which no spare may replace; leave one out", own)
	case o.Placement.Rule != nil || !o.Placement.Wish.WithinApps():
		return fmt.Errorf("--map-by %s places the ranks of all apps together, and %s; use --map-by %s, %s or %s", rule, own, placement.Slot, placement.Node, placement.Switch)
	case o.Placement.Wish.AvoidConflicts:
		return fmt.Errorf("--avoid-path-conflict chooses among the hosts of the whole job, and %s; leave one out", own)
	}
	for j, a := range o.Programs.Apps {
		if len(a.Hosts) == 0 && len(o.Hosts.List) == 0 {
			return fmt.Errorf("%s has no hosts, and %s; name its own before its program, too", appName(o.Programs.Apps, j), own)
		}
	}
	return nil
}

// appName returns the name of an app in messages.
func appName(apps []job.App, i int) string {
	return fmt.Sprintf("app %d (%s)", i, apps[i].Argv[0])
}

// placeFunc places the ranks of an input.
type placeFunc func(*placement.Input) (*placement.Placed, error)

// placeApps places the ranks of apps on some of the hosts; open leaves their number to
// place. Apps with hosts of their own are placed one by one on those of them, all others
// together on those of the job.
func (r rules) placeApps(apps []job.App, open bool, hosts []job.Host, some []job.HostIndex, place placeFunc) (*placement.Placed, error) {
	if !apart(apps) {
		return place(r.job(apps, open, hosts, some))
	}
	groups, together := make([][]int, 0, len(apps)), -1
	first := make([]job.Rank, len(apps)+1)
	for i, a := range apps {
		first[i+1] = first[i] + job.Rank(a.N)
		switch {
		case len(a.Hosts) == 0 && together >= 0:
			groups[together] = append(groups[together], i)
			continue
		case len(a.Hosts) == 0:
			together = len(groups)
		}
		groups = append(groups, []int{i})
	}
	all := &placement.Placed{}
	for _, group := range groups {
		placed, err := r.placeGroup(apps, group, hosts, some, place)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", appName(apps, group[0]), err)
		}
		start := make([]job.Rank, len(group)) // of each app among the ranks of the group
		for k := 1; k < len(group); k++ {
			start[k] = start[k-1] + job.Rank(apps[group[k-1]].N)
		}
		for _, b := range placed.Blocks {
			b.First += first[group[b.App]] - start[b.App]
			b.App = group[b.App]
			all.Blocks = append(all.Blocks, b)
		}
		all.Notes = append(all.Notes, placed.Notes...)
	}
	slices.SortFunc(all.Blocks, func(a, b job.Block) int { return cmp.Compare(a.First, b.First) })
	return all, nil
}

// hostsOf returns the hosts of an app.
func (r rules) hostsOf(a job.App) []job.Host {
	if len(a.Hosts) > 0 {
		return a.Hosts
	}
	return r.hosts
}

// placeGroup places the ranks of apps that have the same hosts.
func (r rules) placeGroup(apps []job.App, group []int, hosts []job.Host, some []job.HostIndex, place placeFunc) (*placement.Placed, error) {
	list := r.hostsOf(apps[group[0]])
	own, at := make(map[string]job.Host, len(list)), make(map[string]int, len(list))
	for i, h := range list {
		own[h.Name], at[h.Name] = h, i
	}
	slotted := slices.ContainsFunc(list, func(h job.Host) bool { return h.Slots > 0 })
	var theirs []job.HostIndex
	for _, h := range some {
		if _, ok := own[hosts[h].Name]; ok {
			theirs = append(theirs, h)
		}
	}
	if len(theirs) == 0 {
		return nil, fmt.Errorf("none of its hosts is left: %s", hostlist.Fold(bare(list)))
	}
	if r.network.router == nil { // else in the order of the network
		slices.SortFunc(theirs, func(a, b job.HostIndex) int { return cmp.Compare(at[hosts[a].Name], at[hosts[b].Name]) })
	}
	var ranks []job.App
	for _, i := range group {
		ranks = append(ranks, apps[i])
	}
	in := r.job(ranks, false, hosts, theirs)
	for i := range in.Hosts {
		h := own[in.Hosts[i].Name]
		in.Hosts[i].Pos, in.Hosts[i].Slots = h.Pos, 0
		if slotted {
			in.Hosts[i].Slots = slots(h)
		}
	}
	return place(in)
}
