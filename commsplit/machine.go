package commsplit

import "fmt"

// Machine is one process's part in a collective algorithm, as a state machine. Its
// caller owns the transport: it calls Step once with no message, sends the outbox, and
// calls Step again whenever the awaited messages are complete, in order of their
// senders, until the outbox is done. Messages with another tag are held back for a
// later step.
type Machine interface {
	// Step consumes the awaited messages and fills the outbox, which the
	// machine resets first. A message that cannot be one of the algorithm ends
	// the machine with Outbox.Err. The messages it sends may alias the machine's
	// memory until the next step but one.
	Step(in []Message, out *Outbox)
	// Stats returns the process's traffic and memory so far.
	Stats() Stats
}

// Stats counts the work of a process.
type Stats struct {
	Messages int // sent to other processes
	Bytes    int // payload of these, as Message.Size counts it
	PeakRows int // the most rows held at one time: own buffers and messages just received
}

// plus returns the stats of a process that did s and then t.
func (s Stats) plus(t Stats) Stats {
	return Stats{s.Messages + t.Messages, s.Bytes + t.Bytes, max(s.PeakRows, t.PeakRows)}
}

// stage is a stretch of an algorithm between two waits. It returns the stage that
// consumes the messages it awaits, nil at the end.
type stage func(in []Message, out *Outbox) stage

// script runs stages one after the other. A stage that awaits no message is
// followed at once by the next one.
type script struct {
	id     int
	limits limits
	next   stage
	count  int // messages awaited
	err    error
	stats  Stats
}

// Step implements Machine.
func (s *script) Step(in []Message, out *Outbox) {
	*out = Outbox{Messages: out.Messages[:0], from: s.id, stats: &s.stats}
	if s.err = s.limits.vet(s.id, in, s.count); s.err != nil {
		s.end(out)
		return
	}
	for {
		out.count = 0
		if s.next = s.next(in, out); s.next == nil {
			s.end(out)
			return
		}
		if s.count = out.count; s.count > 0 {
			return
		}
		in = nil
	}
}

// end makes the outbox say so. It keeps nothing of the machine alive then.
func (s *script) end(out *Outbox) { out.done, out.err, out.stats = true, s.err, nil }

// fail ends the machine: messages of others contradict each other.
func (s *script) fail(format string, args ...any) stage {
	s.err = fmt.Errorf("commsplit: process %d: "+format, append([]any{s.id}, args...)...)
	return nil
}

// Stats implements Machine.
func (s *script) Stats() Stats { return s.stats }

// holds notes how many rows the process holds just now.
func (s *script) holds(rows int) { s.stats.PeakRows = max(s.stats.PeakRows, rows) }
