package agent

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// askSchedule asks the launcher, which alone knows the network, for the parts of this
// node's ranks in a schedule.
func (j *Job) askSchedule(r *serve.Rank, want overlay.Schedule) {
	j.node.Up(link.Service, overlay.KindSchedule, overlay.Encode(overlay.ScheduleRequest{Host: j.node.Self().Index, Rank: r.Number, Schedule: want}))
}

// scheduled takes an answer one step toward the node that waits for it.
func (j *Job) scheduled(s overlay.ScheduleAnswer) error {
	if s.Host != j.node.Self().Index {
		j.node.Route(s.Host, link.Service, overlay.KindScheduled, overlay.Encode(s))
		return nil
	}
	w, err := j.world(s.Schedule.World, overlay.KindScheduled)
	if w == nil || w.servers.tree == nil {
		return err // the world is over, its ranks are not waiting
	}
	return w.servers.tree.Scheduled(&s)
}
