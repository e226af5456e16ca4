package launcher

import (
	"errors"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// mayGrow reports whether agents can be started on unused hosts: not where
// relays stand between, nor where all agents are started at once, nor where files
// would have to be brought there first.
func (r *run) mayGrow() bool {
	return !r.plan.relayed && !r.plan.kind.Bulk && len(r.options.Boot.Stage) == 0
}

// withUnused returns the plan with every unused host, as if it had an agent.
func (p *Plan) withUnused() *Plan { return p.with(p.Unused) }

// with returns the plan with more hosts.
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

// missing returns the unused hosts that a plan made withUnused puts ranks on.
func (ws *worlds) missing(p *Plan) []job.Host {
	var hosts []job.Host
	for _, h := range p.Blocks.hosts() {
		if int(h) >= len(ws.job.plan.Hosts) {
			hosts = append(hosts, p.Hosts[h])
		}
	}
	return hosts
}

// grow begins to start agents on hosts for a spawn. Until they are up they count as dead.
func (r *run) grow(hosts []job.Host, q overlay.SpawnRequest) {
	r.worlds.waiting = []overlay.SpawnRequest{q}
	first := len(r.plan.Hosts)
	r.plan = r.plan.with(hosts)
	for i := first; i < len(r.plan.Hosts); i++ {
		r.plan.dead[i] = true
	}
	r.verbose(1, "starting agents on %s for a spawn", plural(len(hosts), "more host"))
	r.tree.Extend(r.treeConfig())
}

// replace begins to start agents on unused hosts in place of dead ones.
func (r *run) replace(hosts []job.Host) {
	r.plan = r.plan.withMore(hosts)
	r.verbose(1, "starting agents on %s of the list in place of those", plural(len(hosts), "more host"))
	r.tree.Replace(r.treeConfig())
}

// ReplaceFailed ends a job of which hosts cannot be started in place of dead ones.
func (r *run) ReplaceFailed(err error) {
	r.giveUpFor(err)
}

// Grown takes the hosts that are up into the plan, and goes on with the spawns
// that wait for them.
func (r *run) Grown(ready overlay.Ready, err error) {
	plan := *r.plan
	plan.dead = slices.Clone(plan.dead)
	for _, n := range ready.Live {
		plan.dead[n.Index] = false
	}
	r.plan = &plan
	for _, d := range ready.Dead {
		r.report.Note("host %s: %s: %s", r.hostName(d.Index), d.Phase, quoted(d.Cause))
	}
	r.worlds.knowNames(r.tree.Hosts())
	if launch, lerr := r.launchMessage(r.tree.Hosts()); lerr != nil {
		err = errors.Join(err, lerr)
	} else if len(ready.Live) > 0 {
		r.tell(link.KVS, overlay.KindLateLaunch, overlay.Encode(launch))
	}
	waiting := r.worlds.waiting
	r.worlds.waiting = nil
	for _, q := range waiting {
		if err != nil {
			r.worlds.refuse(q, err, nil)
		} else {
			r.worlds.start(q)
		}
	}
}
