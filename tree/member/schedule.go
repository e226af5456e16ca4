package member

import "github.com/golaunch/golaunch/tree/record"

// Schedule asks the agent for this rank's part of a schedule of the world: that of the
// algorithm of a name, of so many bytes as netsim.Algorithm has it.
func (s *Session) Schedule(algorithm string, bytes int64) *Request {
	switch {
	case s.err != nil:
		return refused("%w", s.err)
	case !s.planner:
		return refused("this golaunch is too old to make schedules")
	case algorithm == "" || len(algorithm) > record.MaxAlgorithm:
		return refused("schedule: an algorithm's name has 1 to %d bytes, not %d; see golaunch netsim list", record.MaxAlgorithm, len(algorithm))
	case bytes < 0 || bytes > record.MaxScheduleBytes:
		return refused("schedule: %s of %d bytes; 0 to %d are allowed", algorithm, bytes, int64(record.MaxScheduleBytes))
	}
	s.number++
	q := &Request{seq: s.number, send: []byte(algorithm), size: bytes}
	s.plans.add(q)
	return q
}

// Scheduled returns the outcome of a Schedule: the number of stages, and this rank's
// messages, stage by stage.
func (r *Request) Scheduled() (stages int, part []record.ScheduledMessage) {
	return int(r.got), r.plan
}

func (s *Session) issueSchedule(q *Request) {
	s.put(&record.Record{Kind: record.Schedule, Seq: q.seq, Size: q.size, Body: q.send})
}

// takeSchedule takes the agent's answer to one.
func (s *Session) takeSchedule(r *record.Record) (err error) {
	q := s.plans.live[r.Seq]
	if q == nil {
		return errUnexpected
	}
	if q.plan, err = record.ParseScheduled(r.Body, r.Size, s.size); err != nil {
		return err // q ends with the session
	}
	q.got = r.Size
	s.plans.end(r.Seq, nil)
	return nil
}
