package jobs

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// askSchedule asks the launcher, which alone knows the network, for the parts of this
// node's ranks in a schedule.
func (sv *services) askSchedule(r *serve.Rank, want overlay.Schedule) {
	sv.j.node.Up(link.Service, overlay.KindSchedule, overlay.Encode(overlay.ScheduleRequest{Host: sv.j.node.Self().Index, Rank: r.Number, Schedule: want}))
}

// scheduled takes an answer one step toward the node that waits for it.
func (sv *services) scheduled(s overlay.ScheduleAnswer) error {
	if s.Host != sv.j.node.Self().Index {
		sv.j.node.Route(s.Host, link.Service, overlay.KindScheduled, overlay.Encode(s))
		return nil
	}
	w, err := sv.j.world(s.Schedule.World, overlay.KindScheduled)
	if w == nil || w.servers.tree == nil {
		return err // the world is over, its ranks are not waiting
	}
	return w.servers.tree.Scheduled(&s)
}
