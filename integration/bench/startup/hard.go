package startup

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// The hard cases: faults of the hosts.
const (
	clean      = "nothing wrong"
	slowHosts  = "5 % answer 2 s late"
	deadHosts  = "and 1 % refuse connections"
	silentHost = "and 1 % drop packets instead"
)

// slowBy is the delay of a slow sshd's first word.
const slowBy = 2 * time.Second

// hardLimit bounds a run over hosts that are not well: rivals that hang shall not take
// all evening.
const hardLimit = 30 * time.Second

// hardJobs starts one rank on each of 128 nodes that are not all well, and job
// after job when they are again, over sshds that refuse connections.
func (b *bench) hardJobs(ctx context.Context, f *field) error {
	limit := f.limit
	f.limit = min(limit, hardLimit)
	defer func() { f.limit = limit }()
	nodes := b.most(128)
	sick := f.Nodes()[:nodes]
	slow, dead := pick(nodes, 20, min(10, nodes/2)), pick(nodes, 100, min(27, nodes-1))
	hold := func(hosts string, dead []int) error {
		return b.hold(ctx, f, place{partHard, f.kex, nodes, 1, hosts}, f.hardRunners(nodes, dead))
	}
	each := func(list []int, do func(string) error) error {
		for _, i := range list {
			if err := do(sick[i].Name); err != nil {
				return err
			}
		}
		return nil
	}
	steps := []func() error{
		func() error { return hold(clean, nil) },
		func() error { return each(slow, func(name string) error { return f.Slow(name, slowBy) }) },
		func() error { return hold(slowHosts, nil) },
		func() error { return each(dead, f.Kill) },
		func() error { return hold(deadHosts, dead) },
		func() error { return each(dead, func(name string) error { return f.Revive(ctx, name) }) },
		f.remember, // the revived have other sshds, which no sweep shall end
		func() error { return each(dead, f.Partition) },
		func() error { return hold(silentHost, dead) },
		func() error { return each(dead, f.Heal) },
		func() error { return each(slow, func(name string) error { return f.Slow(name, 0) }) },
		func() error { return b.refuse(ctx, f) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// pick returns one of so many nodes, from one of them on.
func pick(nodes, one, from int) (some []int) {
	for i := from; i < nodes; i += one {
		some = append(some, i)
	}
	return some
}

// hardRunners start hostname; golaunch goes on without the dead, and so shall the
// others: they only have to name every living host.
func (f *field) hardRunners(nodes int, dead []int) []runner {
	t := task{nodes, 1, []string{"hostname"}}
	list := f.runners(named(golaunchName, hydraName, openMPIName, pdshName, clushName, taktukName), t)
	if len(dead) > 0 {
		live := task{nodes - len(dead), 1, t.program}
		list[0].argv = f.golaunch(live, "--allow-dead-nodes", "--spares", strconv.Itoa(len(dead)))
		for i, arg := range list[0].argv {
			if arg == f.hosts(live.nodes) {
				list[0].argv[i] = f.hosts(nodes)
			}
		}
	}
	for i := range list {
		list[i].once = i > 0 // it takes a while
		list[i].tolerant = len(dead) > 0
		list[i].look = func(out string, _ time.Time, _ *reading) error { return f.living(out, nodes, dead) }
	}
	return list
}

// living checks that every host but the dead was named once.
func (f *field) living(out string, nodes int, dead []int) error {
	count := lastWords(out)
	named := 0
	for _, n := range f.Nodes()[:nodes] {
		named += min(count[n.Name], 1)
	}
	if want := nodes - len(dead); named != want {
		return fmt.Errorf("%d hosts were named, not %d", named, want)
	}
	return nil
}

// refusals are starts over sshds that refuse connections.
type refusals struct {
	nodes  int
	failed int
	times  []float64 // ms
}

// maxStartups is sshd's own default: from 10 unauthenticated connections on it
// refuses 30 % of new ones at random, from 100 on all.
const maxStartups = "10:30:100"

// refuse starts job after job over such sshds.
func (b *bench) refuse(ctx context.Context, f *field) error {
	t := task{b.most(full), 1, []string{"hostname"}}
	r := &refusals{nodes: t.nodes}
	for range b.hardRuns {
		reading, err := f.try(ctx, runner{argv: f.golaunch(t), look: func(out string, _ time.Time, _ *reading) error { return f.ranOn(out, t) }})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.tell("MaxStartups %s: %v", maxStartups, err)
			r.failed++
		}
		r.times = append(r.times, wall(reading))
	}
	b.book.refusals = r
	return b.save()
}
