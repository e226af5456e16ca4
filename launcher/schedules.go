package launcher

import (
	"maps"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Bounds of the schedules that are kept, beside the last one.
const (
	mostSchedulesKept  = 64
	mostSchedulesBytes = 64 << 20
)

// schedules makes those of collective operations that ranks ask for. They are made one
// at a time, each once for all nodes of a world.
type schedules struct {
	job   *run
	known map[overlay.Schedule]*schedule
	queue []*schedule // not made yet; the first is being made
	bytes int         // of those that are
}

// schedule is one of them.
type schedule struct {
	of      overlay.Schedule
	waiting map[job.HostIndex]bool // nodes that asked for it; nil once it is made
	made    rankPlan
	err     error
}

// scheduleMade is the event of the first of the queue.
type scheduleMade struct {
	made rankPlan
	err  error
}

// serve answers a node that asks for its ranks' parts of a schedule, once it is
// made. One that asks for more than agents do at a time gets no answer.
func (k *schedules) serve(q overlay.ScheduleRequest) {
	if k.job.worlds.all[q.Schedule.World] == nil || k.job.over {
		return // the ranks that asked are gone, or about to be
	}
	s := k.known[q.Schedule]
	if s != nil && s.waiting == nil {
		k.tell(q.Host, s)
		return
	}
	if k.waits(q) >= overlay.MostSchedules {
		return
	}
	if s == nil {
		s = &schedule{of: q.Schedule, waiting: map[job.HostIndex]bool{}}
		if k.known == nil {
			k.known = map[overlay.Schedule]*schedule{}
		}
		k.known[q.Schedule] = s
		if k.queue = append(k.queue, s); len(k.queue) == 1 {
			k.makeNext()
		}
	}
	s.waiting[q.Host] = true
}

// waits counts the schedules of a world that the node of a request waits for.
func (k *schedules) waits(q overlay.ScheduleRequest) (n int) {
	for _, s := range k.queue {
		if s.of.World == q.Schedule.World && s.waiting[q.Host] {
			n++
		}
	}
	return n
}

// makeNext makes the first of the queue.
func (k *schedules) makeNext() {
	s := k.queue[0]
	w := k.job.worlds.all[s.of.World]
	if w == nil { // it is over
		k.job.tree.Post(scheduleMade{})
		return
	}
	plan := w.plan
	k.job.tree.Go(func() { // ends in seconds (mostScheduled), or soon after the job
		made, err := plan.schedule(k.job.tree.Context(), k.job.options.Hosts.Network, s.of)
		k.job.tree.Post(scheduleMade{made, err})
	})
}

// finish answers all nodes that wait for the first of the queue, and begins the next.
func (k *schedules) finish(e scheduleMade) {
	s := k.queue[0]
	nodes := slices.Sorted(maps.Keys(s.waiting))
	s.made, s.err, s.waiting = e.made, e.err, nil
	if k.queue = k.queue[1:]; k.job.worlds.all[s.of.World] == nil {
		delete(k.known, s.of)
	} else {
		for _, h := range nodes {
			k.tell(h, s)
		}
		k.keep(s)
	}
	if len(k.queue) > 0 && !k.job.over {
		k.makeNext()
	}
}

// tell tells a node the parts of its ranks.
func (k *schedules) tell(h job.HostIndex, s *schedule) {
	answer := overlay.ScheduleAnswer{Host: h, Schedule: s.of, Stages: s.made.stages}
	if s.err != nil {
		answer.Failure = s.err.Error()
	} else {
		for _, b := range k.job.worlds.all[s.of.World].plan.Blocks {
			if b.Host == h {
				answer.Parts = append(answer.Parts, s.made.parts[b.First:][:b.Count]...)
			}
		}
	}
	k.job.tell(link.Service, overlay.KindScheduled, overlay.Encode(answer))
}

// keep counts one that was made, and forgets the others where these are too many.
func (k *schedules) keep(s *schedule) {
	if k.bytes += s.made.bytes; k.bytes > mostSchedulesBytes || len(k.known)-len(k.queue) > mostSchedulesKept+1 {
		k.forget(func(x *schedule) bool { return x != s })
	}
}

// forget forgets some of those that were made.
func (k *schedules) forget(which func(*schedule) bool) {
	maps.DeleteFunc(k.known, func(_ overlay.Schedule, s *schedule) bool {
		if s.waiting != nil || !which(s) {
			return false
		}
		k.bytes -= s.made.bytes
		return true
	})
}
