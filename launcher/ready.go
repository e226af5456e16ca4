package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
)

// checkReady refuses a Ready that tells of hosts which are none of the job's.
func (r *run) checkReady(ready overlay.Ready) error {
	for _, n := range ready.Live {
		if n.Index < 0 || int(n.Index) >= len(r.plan.Hosts) {
			return fmt.Errorf("host %d is said to be up, of %d", n.Index, len(r.plan.Hosts))
		}
	}
	return nil
}

// treeReady has the list of who lives: it fixes the plan and launches, or gives
// the reasons why not.
func (r *run) treeReady() {
	r.ready = true
	r.clock.mark("agents up")
	ready := r.family.ReadyValue()
	ready.Dead = append(ready.Dead, r.died...)
	ready.Settle()
	r.live = ready
	r.boot.seal()
	if r.decided {
		r.endIf()
		return
	}
	if len(ready.Dead) > 0 {
		allowed := (r.AllowDeadNodes || len(ready.Dead) <= r.plan.Spares) && r.plan.deadRelays(ready.Dead) == 0
		r.report.dead(r.plan, ready.Dead, allowed)
		if !allowed {
			r.giveUp(job.ExitLauncher, 0)
			return
		}
		dead := make([]job.HostIndex, len(ready.Dead))
		for i, d := range ready.Dead {
			dead[i] = d.Index
		}
		plan, err := r.plan.Without(dead)
		if err != nil {
			r.report.say("%v", err)
			r.giveUp(job.ExitLauncher, 0)
			return
		}
		r.plan = plan
	}
	if err := r.printer.prepare(0, r.plan); err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	launch, err := r.launchMessage(ready)
	if err != nil {
		r.report.say("%v", err)
		r.giveUp(job.ExitLauncher, 0)
		return
	}
	r.knowNames(ready)
	r.worlds = map[int]*world{0: {plan: r.plan}}
	r.family.Broadcast(link.KVS, overlay.KindLaunch, overlay.Encode(launch))
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
	case r.growing != nil && dead[0].Index >= r.growing.first: // they hold nothing yet
		r.growing.died = append(r.growing.died, dead...)
		return
	}
	text := "link to its agent lost: " + dead[0].Cause
	if below := len(dead) - 1; below > 0 {
		text += fmt.Sprintf(" (with %d nodes below it)", below)
	}
	r.failed(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: dead[0].Index, Phase: "launch", Text: text})
}
