package servetree

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree/record"
)

// What a node keeps of the schedules that it was told, beside the last one.
const (
	mostPlansKept = 32
	mostPlanBytes = 4 << 20
)

// plan is a schedule of the world that local ranks have asked for.
type plan struct {
	answer  *overlay.ScheduleAnswer // nil until it is here
	waiting []fence                 // those that wait for it
}

// plans are those of a node.
type plans struct {
	known map[overlay.Schedule]*plan
	asked int // those that have no answer yet
	bytes int // of the others
}

// schedule tells a rank its part of a schedule, at once where the launcher has told
// this node.
func (s *Server) schedule(c *caller, r *record.Record) error {
	switch {
	case len(r.Body) == 0 || len(r.Body) > record.MaxAlgorithm || r.Size > record.MaxScheduleBytes:
		return fmt.Errorf("it asks for a schedule of %d bytes, with a name of %d bytes", r.Size, len(r.Body))
	case c.plans == record.MaxRequests:
		return fmt.Errorf("it asks for more than %d schedules at a time", record.MaxRequests)
	}
	want := overlay.Schedule{World: s.w.ID, Algorithm: string(r.Body), Bytes: r.Size}
	p := s.plans.known[want]
	switch {
	case p != nil && p.answer != nil:
		s.tellPlan(c, r.Seq, p.answer)
		return nil
	case p == nil && s.plans.asked == overlay.MostSchedules:
		s.tellPlan(c, r.Seq, &overlay.ScheduleAnswer{Failure: fmt.Sprintf("ranks of this node wait for %d other schedules already; ask for fewer at a time", s.plans.asked)})
		return nil
	case p == nil:
		p = &plan{}
		if s.plans.known == nil {
			s.plans.known = map[overlay.Schedule]*plan{}
		}
		s.plans.known[want] = p
		s.plans.asked++
		s.Ask(s.w.Local(c.rank), want)
	}
	p.waiting = append(p.waiting, fence{c.rank, r.Seq})
	c.plans++
	return nil
}

// Scheduled takes the launcher's answer. An error says that nobody asked for it.
func (s *Server) Scheduled(a *overlay.ScheduleAnswer) error {
	p := s.plans.known[a.Schedule]
	if p == nil || p.answer != nil || a.Failure == "" && len(a.Parts) != len(s.w.Ranks) {
		return fmt.Errorf("a schedule %s of %d ranks of world %d that nobody asked for", a.Schedule.Algorithm, len(a.Parts), s.w.ID)
	}
	p.answer = a
	for _, q := range p.waiting {
		if c := s.callers[q.rank]; c != nil {
			c.plans--
			s.tellPlan(c, q.request, a)
		}
	}
	p.waiting = nil
	s.plans.keep(p)
	return nil
}

// keep counts a plan that has its answer, and forgets the others where these are too
// many.
func (k *plans) keep(p *plan) {
	bytes := 0
	for _, part := range p.answer.Parts {
		bytes += len(part)
	}
	k.asked--
	if k.bytes += bytes; k.bytes <= mostPlanBytes && len(k.known)-k.asked <= mostPlansKept+1 {
		return
	}
	for schedule, x := range k.known {
		if x.answer != nil && x != p {
			delete(k.known, schedule)
		}
	}
	k.bytes = bytes
}

// tellPlan tells a rank its part, or why there is none.
func (s *Server) tellPlan(c *caller, request uint64, a *overlay.ScheduleAnswer) {
	r := record.Record{Kind: record.Fail, Fn: record.FailSchedule, Seq: request, Body: []byte(a.Failure)}
	if a.Failure == "" {
		i := slices.Index(s.w.Ranks, s.w.Local(c.rank))
		r = record.Record{Kind: record.Schedule, Seq: request, Size: int64(a.Stages), Body: a.Parts[i]}
	}
	s.tell(c, &r)
}
