package launcher

import (
	"errors"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// HostsTried names the dead ones of so many hosts that were started, and has others
// started in their place, if it may.
func (r *run) HostsTried(dead []overlay.DeadHost, tried int) (replaced bool) {
	all := r.deadHosts()
	if len(all) == 0 || r.decided {
		return false
	}
	allowed := r.mayLack(all)
	if len(dead) > 0 {
		r.report.dead(r.plan, dead, tried, allowed)
	}
	if others := r.plan.replacements(all); allowed && r.options.Hosts.AllowDeadNodes && len(others) > 0 {
		r.replace(others)
		return true
	}
	return false
}

// deadHosts returns those without a living agent, relays among them.
func (r *run) deadHosts() (dead []job.HostIndex) {
	for _, d := range r.tree.Hosts().Dead {
		dead = append(dead, d.Index)
	}
	return dead
}

// mayLack reports whether the job may do without hosts.
func (r *run) mayLack(dead []job.HostIndex) bool {
	return (r.options.Hosts.AllowDeadNodes || len(dead) <= r.plan.Spares) && !slices.ContainsFunc(dead, r.plan.isRelay)
}

// TreeUp fixes the plan and launches, or gives the reasons against it.
func (r *run) TreeUp() {
	dead := r.deadHosts()
	switch {
	case r.decided:
		r.endIf()
		return
	case !r.mayLack(dead):
		r.giveUp(job.ExitLauncher, 0)
		return
	case len(dead) > 0:
		plan, err := r.plan.Without(dead)
		if err != nil {
			r.giveUpFor(err)
			return
		}
		r.tellWithout(r.plan, plan)
		r.plan = plan
	}
	r.sharing.begin()
}

// tellWithout tells the differences of q, which is p without dead hosts.
func (r *run) tellWithout(p, q *Plan) {
	for _, text := range append([]string{p.replaced(q), p.fewer(q)}, p.placeNotes(q)...) {
		if text != "" {
			r.report.Note("%s", text)
		}
	}
}

// launch sends the ranks on their way.
func (r *run) launch() {
	if text := r.plan.boundTooMany(r.tree.Hosts().Live, r.options.Start.BindTo, r.options.Placement.Oversubscribe, r.slots()); text != "" {
		r.giveUpFor(errors.New(text))
		return
	}
	if err := r.output.printer.prepare(ownWorld, r.plan); err != nil {
		r.giveUpFor(job.Exit(job.ExitUsage, "%w", err))
		return
	}
	launch, err := r.launchMessage(r.tree.Hosts())
	if err != nil {
		r.giveUpFor(err)
		return
	}
	r.worlds.knowNames(r.tree.Hosts())
	r.worlds.launch(r.plan)
	r.tree.Know(r.number, ownWorld, r.plan.Blocks)
	r.broadcast(link.KVS, overlay.KindLaunch, overlay.Encode(launch))
	r.signals.realTime = realTime()
	r.account.clock.Mark("launch sent")
	r.sendFiles()
}

// HostsLost ends a job that has lost hosts since they were up, unless they matter to no rank.
func (r *run) HostsLost(dead []overlay.DeadHost) {
	if !r.worlds.launched() && len(r.sharing.of) > 0 && !r.decided {
		r.sharing.loseHosts(dead)
		return
	}
	r.failed(overlay.Lost(dead[0].Index, "launch", errors.New(dead[0].Cause), len(dead)-1), time.Now())
}
