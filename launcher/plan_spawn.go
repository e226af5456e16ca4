package launcher

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// SpawnHosts describes the hosts that a spawn is planned on.
type SpawnHosts struct {
	Used []int // ranks that each host holds now, by job.HostIndex
	// Names are further names of hosts, such as their own.
	Names map[string]job.HostIndex
	// HostFile returns the hosts of a hint's host file.
	HostFile func(name string) ([]job.Host, error)
}

// noSlot is the error code of a process that soft left out.
const noSlot = 1

// Spawn plans a further world on p's hosts. Commands run as app does in all
// that they leave open: directory and environment. Ranks go to free slots in
// the order of hosts, or of those that a command names; where no host was given
// slots, to the hosts that hold the fewest. codes is as in pmi.SpawnResult.
func (p *Plan) Spawn(s *pmi.Spawn, app job.App, at SpawnHosts) (world *Plan, codes []int, err error) {
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
		n, blocks, err := p.rules.spawn(c, p.Hosts, hosts, used)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range blocks {
			used[b.Host] += b.Count
			b.First, b.App = b.First+job.Rank(q.Size), i
			q.Blocks = append(q.Blocks, b)
		}
		q.Size += n
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

// universe counts the slots of the job's hosts, those in use by the first world
// included: MPI_UNIVERSE_SIZE. Hosts without an agent count if they can get one. It is
// -1 where no host was given slots, as each then takes any number.
func (p *Plan) universe(mayGrow bool) int {
	if !p.rules.slotted {
		return -1
	}
	n := 0
	for i, h := range p.Hosts {
		if !p.dead[i] {
			n += slots(h)
		}
	}
	if mayGrow {
		for _, h := range p.Unused {
			n += slots(h)
		}
	}
	return max(n, p.Size)
}

// checkCommand refuses commands that no kernel starts, or that no agent asks for that
// keeps to the protocol.
func checkCommand(c *pmi.Command) error {
	switch {
	case c.Exec == "":
		return errors.New("a command without a program")
	case c.Procs < 1:
		return fmt.Errorf("%d processes", c.Procs)
	}
	for _, s := range slices.Concat([]string{c.Exec, c.Hints.Dir, c.Hints.Path}, c.Args, c.Env) {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%q contains a zero byte", s)
		}
	}
	return nil
}

// spawnedApp returns the App of a command, of which n processes are started.
func spawnedApp(c *pmi.Command, n int, app job.App) job.App {
	app.Argv, app.N, app.Path = append([]string{c.Exec}, c.Args...), n, c.Hints.Path
	app.Env = slices.Concat(app.Env, c.Env)
	if dir := c.Hints.Dir; dir != "" {
		if !path.IsAbs(dir) {
			dir = path.Join(app.Dir, dir)
		}
		app.Dir, app.DirGiven = dir, true
	}
	return app
}

// candidates returns the hosts that may hold a command's processes, in order.
func (p *Plan) candidates(h pmi.Hints, at SpawnHosts) ([]job.HostIndex, error) {
	var named []job.Host
	file := "" // that names them: its text is not repeated
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
		named, file = list, h.HostFile
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
	for number, n := range named {
		i := job.HostIndex(slices.IndexFunc(p.Hosts, func(h job.Host) bool { return h.Name == n.Name }))
		if i < 0 {
			own, ok := at.Names[n.Name]
			switch {
			case !ok && file != "":
				return nil, fmt.Errorf("host %d of host file %s is not one of the job's, or has no agent; name it in --hosts or --hostfile", number+1, file)
			case !ok:
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

// hostFile returns SpawnHosts.HostFile for the files that a rank's agent has read.
func hostFile(files []overlay.HostFile) func(name string) ([]job.Host, error) {
	return func(name string) ([]job.Host, error) {
		var last overlay.HostFile
		for _, last = range files {
			switch {
			case last.Failure != "":
				return nil, fmt.Errorf("host file %s on the rank's host: %s", last.Name, last.Failure)
			case last.Name == name:
				return hostlist.Parse(last.Hosts, "host file")
			}
		}
		return nil, fmt.Errorf("host file %s was not read", name)
	}
}

// unknown returns the error of a host that takes no processes.
func (p *Plan) unknown(name string) error {
	if slices.ContainsFunc(p.Unused, func(h job.Host) bool { return h.Name == name }) {
		return fmt.Errorf("host %s holds no rank and cannot get an agent now; start golaunch with --prelaunch", name)
	}
	return fmt.Errorf("host %s is not one of the job's; name it in --hosts or --hostfile", name)
}
