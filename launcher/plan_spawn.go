package launcher

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmi"
)

// Place is what a spawn is planned on.
type Place struct {
	Used []int // ranks that each host holds now, by job.HostIndex
	// Names are further names of hosts, such as their own.
	Names map[string]job.HostIndex
	// HostFile reads the host file of a hint.
	HostFile func(name string) ([]job.Host, error)
}

// noSlot is the error code of a process that soft left out.
const noSlot = 1

// Spawn plans a further world on p's hosts. Commands run as app does in all
// that they leave open: directory and environment. Ranks go to free slots in
// the order of hosts, or of those that a command names; where no host was given
// slots, to the hosts that hold the fewest. codes is as in pmi.SpawnResult.
func (p *Plan) Spawn(s *pmi.Spawn, app job.App, at Place) (world *Plan, codes []int, err error) {
	q := *p
	q.Size, q.Apps, q.Blocks = 0, nil, nil
	used := slices.Clone(at.Used)
	reduced := false
	for i := range s.Commands {
		c := &s.Commands[i]
		if err := checkCommand(c); err != nil {
			return nil, nil, err
		}
		if c.Procs > MaxRanks-len(codes) {
			return nil, nil, fmt.Errorf("more than %d processes", MaxRanks)
		}
		hosts, err := p.candidates(c.Hints, at)
		if err != nil {
			return nil, nil, err
		}
		n, err := p.allowed(c, hosts, used)
		if err != nil {
			return nil, nil, err
		}
		for h, count := range p.spread(n, hosts, used) {
			if count > 0 {
				q.Blocks = append(q.Blocks, job.Block{Host: hosts[h], First: job.Rank(q.Size), Count: count, App: i})
				q.Size += count
				used[hosts[h]] += count
			}
		}
		q.Apps = append(q.Apps, spawnedApp(c, n, app))
		reduced = reduced || n < c.Procs
		codes = append(codes, make([]int, c.Procs)...)
		for j := len(codes) - c.Procs + n; j < len(codes); j++ {
			codes[j] = noSlot
		}
	}
	all := 0
	for _, n := range used {
		all += n
	}
	switch {
	case q.Size == 0:
		return nil, nil, errors.New("no free slot for any process")
	case all > MaxRanks:
		return nil, nil, fmt.Errorf("more than %d ranks in all", MaxRanks)
	}
	if !reduced {
		codes = nil
	}
	return &q, codes, nil
}

// checkCommand refuses what no kernel starts, and what no agent that keeps to the
// protocol asks for.
func checkCommand(c *pmi.Command) error {
	switch {
	case c.Exec == "":
		return errors.New("a command without a program")
	case c.Procs < 1:
		return fmt.Errorf("%d processes", c.Procs)
	}
	for _, s := range append([]string{c.Exec, c.Hints.Dir, c.Hints.Path}, c.Args...) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%q contains a zero byte", s)
		}
	}
	return nil
}

// spawnedApp is the App of a command, of which n processes are started.
func spawnedApp(c *pmi.Command, n int, app job.App) job.App {
	app.Argv, app.N, app.Path = append([]string{c.Exec}, c.Args...), n, c.Hints.Path
	if dir := c.Hints.Dir; dir != "" {
		if !path.IsAbs(dir) {
			dir = path.Join(app.Dir, dir)
		}
		app.Dir, app.DirGiven = dir, true
	}
	return app
}

// candidates are the hosts that may hold a command's processes, in order.
func (p *Plan) candidates(h pmi.Hints, at Place) ([]job.HostIndex, error) {
	var named []job.Host
	switch {
	case len(h.Hosts) > 0:
		list, err := hostlist.Parse(strings.Join(h.Hosts, ","), "host")
		if err != nil {
			return nil, err
		}
		named = list
	case h.HostFile != "":
		list, err := at.HostFile(h.HostFile)
		if err != nil {
			return nil, err
		}
		named = list
	default:
		var all []job.HostIndex
		for i := range p.Hosts {
			if !p.dead[i] {
				all = append(all, job.HostIndex(i))
			}
		}
		return all, nil
	}
	var found []job.HostIndex
	for _, n := range named {
		i := job.HostIndex(slices.IndexFunc(p.Hosts, func(h job.Host) bool { return h.Name == n.Name }))
		if i < 0 {
			own, ok := at.Names[n.Name]
			if !ok {
				return nil, p.unknown(n.Name)
			}
			i = own
		}
		if p.dead[i] {
			return nil, fmt.Errorf("host %s could not be started", n.Name)
		}
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	return found, nil
}

// unknown says why a host takes no processes.
func (p *Plan) unknown(name string) error {
	if slices.ContainsFunc(p.Unused, func(h job.Host) bool { return h.Name == name }) {
		return fmt.Errorf("host %s holds no rank and cannot get an agent now; start golaunch with --prelaunch", name)
	}
	return fmt.Errorf("host %s is not one of the job's; name it in --hosts or --hostfile", name)
}

// allowed is how many of a command's processes are started.
func (p *Plan) allowed(c *pmi.Command, hosts []job.HostIndex, used []int) (int, error) {
	if p.rules.oversubscribe || !p.rules.slotted {
		return c.Procs, nil
	}
	free := 0
	for _, h := range hosts {
		free += max(0, slots(p.Hosts[h])-used[h])
	}
	switch n, ok := c.Hints.Most(min(c.Procs, free)); {
	case free >= c.Procs:
		return c.Procs, nil
	case ok:
		return n, nil
	}
	return 0, fmt.Errorf("not enough free slots: %s of %s, %s on %s; give more slots (host:N) or hosts, or --oversubscribe",
		count(c.Procs, "process", "processes"), c.Exec, count(free, "free slot", "free slots"), plural(len(hosts), "host"))
}

// spread puts n processes on hosts: into free slots first, where there are
// slots, then evenly, counting the ranks that are there.
func (p *Plan) spread(n int, hosts []job.HostIndex, used []int) []int {
	counts, load := make([]int, len(hosts)), make([]int, len(hosts))
	for i, h := range hosts {
		if p.rules.slotted {
			counts[i] = min(n, max(0, slots(p.Hosts[h])-used[h]))
			n -= counts[i]
		}
		load[i] = used[h] + counts[i]
	}
	for i, more := range fewest(n, load) {
		counts[i] += more
	}
	return counts
}

// fewest shares n out so that the greatest load becomes the least possible; the
// first hosts get what is uneven.
func fewest(n int, load []int) []int {
	counts := make([]int, len(load))
	if n == 0 {
		return counts
	}
	below := func(level int) (sum int) {
		for _, l := range load {
			sum += max(0, level-l)
		}
		return sum
	}
	low := slices.Min(load) // the highest level that n suffices for
	for high := low + n + 1; high-low > 1; {
		if mid := (low + high) / 2; below(mid) <= n {
			low = mid
		} else {
			high = mid
		}
	}
	left := n - below(low)
	for i, l := range load {
		counts[i] = max(0, low-l)
		if left > 0 && l <= low {
			counts[i]++
			left--
		}
	}
	return counts
}
