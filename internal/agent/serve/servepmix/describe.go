package servepmix

import (
	"fmt"
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// describe is the world as one of its helpers learns of it.
func (s *Server) describe(p *part) (pmix.World, error) {
	w, err := Describe(&s.w.World, s.w.Launch.Universe)
	if err != nil {
		return w, err
	}
	w.Self = int32(s.w.Self)
	for _, r := range p.ranks {
		w.Locals = append(w.Locals, pmix.Local{Rank: uint32(r.Number), CPUs: r.CPUs})
	}
	w.Dir, err = s.local.helpers.Dir(s.w.KVSName)
	return w, err
}

// Describe is a world as nodes learn of it that have no rank of it.
func Describe(o *overlay.World, universe int) (pmix.World, error) {
	w := pmix.World{Namespace: o.KVSName, Universe: uint32(max(universe, o.Size)), Self: -1, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	if o.Spawner != "" {
		w.Parent = pmix.Proc{Namespace: o.Spawner, Rank: uint32(o.SpawnRank)}
	}
	var hosts []job.HostIndex
	for _, b := range o.Blocks {
		hosts = append(hosts, b.Host)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	names, err := hostlist.Parse(o.Names, "world")
	if err == nil && len(names) != len(hosts) {
		err = fmt.Errorf("names of %d hosts for %d", len(names), len(hosts))
	}
	if err != nil {
		return w, fmt.Errorf("world %s: %w", o.KVSName, err)
	}
	for _, n := range names {
		w.Hosts = append(w.Hosts, n.Name)
	}
	for i, a := range o.Apps {
		app := pmix.App{Argv: a.Argv, Dir: a.Dir}
		first := true
		for _, b := range o.Blocks {
			if b.App == i {
				app.Size += uint32(b.Count)
				if first {
					app.First, first = uint32(b.First), false
				}
			}
		}
		w.Apps = append(w.Apps, app)
	}
	for _, b := range o.Blocks {
		host, _ := slices.BinarySearch(hosts, b.Host)
		w.Blocks = append(w.Blocks, pmix.Block{First: uint32(b.First), Count: uint32(b.Count), Host: uint32(host), App: uint32(b.App)})
	}
	return w, nil
}
