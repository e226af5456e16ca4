package agent

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// askSchedule asks the launcher, which alone knows the network, for the parts of this
// node's ranks in a schedule.
func (a *Agent) askSchedule(r *serve.Rank, want overlay.Schedule) {
	a.up(link.Service, overlay.KindSchedule, overlay.Encode(overlay.ScheduleRequest{Host: a.self.Index, Rank: r.Number, Schedule: want}))
}

// scheduled takes an answer one step toward the node that waits for it.
func (a *Agent) scheduled(s overlay.ScheduleAnswer) error {
	if s.Host != a.self.Index {
		a.route(s.Host, link.Service, overlay.KindScheduled, overlay.Encode(s))
		return nil
	}
	w, err := a.world(s.Schedule.World, overlay.KindScheduled)
	if w == nil || w.tree == nil {
		return err // the world is over, its ranks are not waiting
	}
	return w.tree.Scheduled(&s)
}
