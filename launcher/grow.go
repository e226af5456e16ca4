package launcher

import (
	"errors"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// growth is hosts without agents that are being started because spawns need
// them, or in place of dead ones before the launch, as new ranges below the root.
type growth struct {
	first   job.HostIndex // of those hosts, which are the last of the plan
	early   bool          // before the launch
	opening *boot         // a task's until growthReady
	boot    *boot         // the same from then on: their keys and addresses are known
	waiting []overlay.SpawnRequest
	died    []overlay.DeadHost // since they were ready
}

// growthReady is the event of knowing how the hosts are reached, or why not.
type growthReady struct{ err error }

// mayGrow reports whether agents can be started on unused hosts: not where
// relays stand between, nor where all agents are started at once, nor where files
// would have to be brought there first.
func (r *run) mayGrow() bool {
	return !r.plan.relayed && !r.plan.kind.Bulk && len(r.options.Boot.Stage) == 0
}

// withUnused is the plan with every unused host, as if it had an agent.
func (p *Plan) withUnused() *Plan { return p.with(p.Unused) }

// with is the plan with more hosts.
func (p *Plan) with(hosts []job.Host) *Plan {
	taken := make(map[job.Host]bool, len(hosts))
	for _, h := range hosts {
		taken[h] = true
	}
	q := *p
	q.Hosts = slices.Concat(p.Hosts, hosts)
	q.dead = append(slices.Clone(p.dead), make([]bool, len(hosts))...)
	q.Unused = slices.DeleteFunc(slices.Clone(p.Unused), func(h job.Host) bool { return taken[h] })
	q.reserve = slices.DeleteFunc(slices.Clone(p.reserve), func(h job.Host) bool { return taken[h] })
	return &q
}

// missing are the unused hosts that a plan made withUnused puts ranks on.
func (r *run) missing(p *Plan) []job.Host {
	var hosts []job.Host
	for _, h := range p.nodes() {
		if int(h) >= len(r.plan.Hosts) {
			hosts = append(hosts, p.Hosts[h])
		}
	}
	return hosts
}

// grow begins to start agents on hosts for a spawn. Until they are up they count as dead.
func (r *run) grow(hosts []job.Host, q overlay.SpawnRequest) {
	g := &growth{first: job.HostIndex(len(r.plan.Hosts)), waiting: []overlay.SpawnRequest{q}}
	r.growing = g
	r.plan = r.plan.with(hosts)
	for i := int(g.first); i < len(r.plan.Hosts); i++ {
		r.plan.dead[i] = true
	}
	r.verbose(1, "starting agents on %s for a spawn", plural(len(hosts), "more host"))
	plan, common := r.plan, r.boot.common
	common.MissAfter, common.LateAfter = 0, 0 // the spawn is placed on them already: none may be missing
	g.opening = &boot{common: common, hosts: plan.entries()}
	r.tasks.Go(func() { // ends when the keys are open, which were let go of at the launch, or with the job
		_, err := g.opening.open(r.ctx, r.options, plan, nil, r.report) // the root's piper starts them
		r.inbox.Put(growthReady{err})
	})
}

// growthReady has the root start the hosts.
func (r *run) growthReady(e growthReady) {
	g := r.growing
	g.boot = g.opening
	if e.err == nil {
		g.boot.common.Grow(g.boot.hosts[g.first:])
	}
	switch {
	case r.killed:
	case e.err != nil && g.early:
		r.report.say("%v", e.err)
		r.giveUp(job.ExitLauncher, 0)
	case e.err != nil:
		r.grown(overlay.Ready{}, e.err)
	case r.subtree.Degree() == 0: // nobody lived: a new root is among these
		r.subtree.Grow(g.boot.starter, g.boot.common, g.boot.hosts[g.first:], 1)
	default:
		for slot := range r.subtree.Children {
			r.subtree.Extend(slot, g.boot.hosts[g.first:])
			g.boot.allow(r.subtree.Host(slot).Index, g.boot.hosts[g.first:])
		}
		r.toRoot(0, link.KVS, overlay.KindGrow, overlay.Encode(overlay.Range{Hosts: g.boot.hosts[g.first:], Common: g.boot.common}))
	}
}

// replace begins to start agents on unused hosts in place of dead ones.
func (r *run) replace(hosts []job.Host) {
	g := &growth{first: job.HostIndex(len(r.plan.Hosts)), early: true}
	r.growing = g
	r.plan = r.plan.withMore(hosts)
	r.verbose(1, "starting agents on %s of the list in place of those", plural(len(hosts), "more host"))
	plan := r.plan
	r.tasks.Go(func() { // ends when the keys are open, or with the job
		var err error
		g.opening, err = newBoot(r.ctx, r.options, plan, r.jobID, r.inbox, r.report)
		r.inbox.Put(growthReady{err})
	})
}

// starting is what the hosts that are being started are reached by.
func (r *run) starting() *boot {
	if r.growing != nil && r.growing.boot != nil {
		return r.growing.boot
	}
	return r.boot
}

// grown takes the hosts that are up into the plan, and goes on with the spawns
// that wait for them.
func (r *run) grown(ready overlay.Ready, err error) {
	g := r.growing
	if g.early {
		r.settle(ready)
		return
	}
	r.growing = nil
	g.boot.close()
	ready.Dead = append(ready.Dead, g.died...)
	ready.Settle()
	plan := *r.plan
	plan.dead = slices.Clone(plan.dead)
	for _, n := range ready.Live {
		plan.dead[n.Index] = false
	}
	r.plan = &plan
	for _, d := range ready.Dead {
		r.report.note("host %s: %s: %s", r.hostName(d.Index), d.Phase, quoted(d.Cause))
	}
	r.live.Live = append(r.live.Live, ready.Live...)
	r.knowNames(r.live)
	if launch, lerr := r.launchMessage(r.live); lerr != nil {
		err = errors.Join(err, lerr)
	} else if len(ready.Live) > 0 {
		r.toRoot(0, link.KVS, overlay.KindLateLaunch, overlay.Encode(launch))
	}
	for _, q := range g.waiting {
		if err != nil {
			r.refuse(q, err, nil)
		} else {
			r.start(q)
		}
	}
}
