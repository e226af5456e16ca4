package launcher

import (
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// treeReady has the list of who lives of the hosts that were started from here.
func (r *run) treeReady() {
	r.starting().seal()
	r.tellShared()
	r.settle(r.subtree.ReadyValue())
}

// settle takes in who lives of the hosts that were started. It fixes the plan and
// launches, gives the reasons why not, or has other hosts started in place of those
// that are dead.
func (r *run) settle(ready overlay.Ready) {
	tried := len(r.plan.Hosts)
	if g := r.growing; g != nil {
		tried -= int(g.first)
		for _, d := range r.died {
			if d.Index < g.first { // it was up, until now
				tried++
			}
		}
		g.boot.close()
		r.growing = nil
	}
	ready.Dead = append(ready.Dead, r.died...)
	r.died = nil
	ready.Settle()
	r.boot.explain(ready.Dead)
	r.live.Live = append(r.live.Live, ready.Live...)
	r.live.Dead = append(r.live.Dead, ready.Dead...)
	r.live.Settle()
	var dead []job.HostIndex
	for _, d := range r.live.Dead {
		dead = append(dead, d.Index)
	}
	allowed := (r.options.Hosts.AllowDeadNodes || len(dead) <= r.plan.Spares) && r.plan.deadRelays(ready.Dead) == 0
	if len(dead) > 0 && !r.decided {
		if len(ready.Dead) > 0 {
			r.report.dead(r.plan, ready.Dead, tried, allowed)
		}
		if others := r.plan.replacements(dead); allowed && r.options.Hosts.AllowDeadNodes && len(others) > 0 {
			r.replace(others)
			return
		}
	}
	r.ready = true
	r.clock.mark("agents up")
	switch {
	case r.decided:
		r.endIf()
		return
	case !allowed:
		r.giveUp(job.ExitLauncher, 0)
		return
	case len(dead) > 0:
		plan, err := r.plan.Without(dead)
		if err != nil {
			r.report.say("%v", err)
			r.giveUp(job.ExitLauncher, 0)
			return
		}
		r.tellWithout(r.plan, plan)
		r.plan = plan
	}
	r.share()
}

// tellWithout says what is other in q, which is p without hosts that are dead.
func (r *run) tellWithout(p, q *Plan) {
	for _, text := range append([]string{p.replaced(q), p.fewer(q)}, p.placeNotes(q)...) {
		if text != "" {
			r.report.note("%s", text)
		}
	}
}

// launch sends the ranks on their way.
func (r *run) launch() {
	if text := r.plan.boundTooMany(r.live.Live, r.options.Start.BindTo, r.options.Placement.Oversubscribe, r.slots()); text != "" {
		r.report.say("%s", text)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	if err := r.printer.prepare(0, r.plan); err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitUsage, 0)
		return
	}
	launch, err := r.launchMessage(r.live)
	if err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	r.knowNames(r.live)
	r.worlds = map[int]*world{0: {plan: r.plan}}
	r.subtree.Worlds.Know(0, r.plan.Blocks)
	r.subtree.Broadcast(link.KVS, overlay.KindLaunch, overlay.Encode(launch))
	r.realTime = realTime()
	r.clock.mark("launch sent")
	r.sendFiles()
}

// hostsDied takes hosts out that were lost after they were ready, the first of
// them with its own cause. If the launch is under way, the job has lost a node.
func (r *run) hostsDied(dead []overlay.DeadHost) {
	switch {
	case len(dead) == 0:
		return
	case !r.ready:
		r.died = append(r.died, dead...)
		return
	case r.worlds == nil && len(r.sharing.of) > 0 && !r.decided:
		r.sharingLost(dead)
		return
	case r.growing != nil && dead[0].Index >= r.growing.first: // they hold nothing yet
		r.growing.died = append(r.growing.died, dead...)
		return
	}
	r.failed(overlay.Lost(dead[0].Index, "launch", errors.New(dead[0].Cause), len(dead)-1), time.Now())
}
