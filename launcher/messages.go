package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/tree"
)

// Message handles a message of the root about the job. An error means that it broke the
// protocol.
func (r *run) Message(m overlay.Message) error {
	world := int(m.Header.World)
	switch m.Header.Kind {
	case overlay.KindSchedule:
		return overlay.TakeAny(m, r.schedules.serve)
	case overlay.KindStarted:
		return overlay.Take(m, func(s overlay.Started) error {
			r.tree.Watched(m)
			return r.worlds.noteStarted(world, s)
		})
	case overlay.KindSpawn:
		return overlay.TakeAny(m, r.worlds.spawn)
	case overlay.KindFailure:
		return overlay.TakeAny(m, func(f job.Failure) { r.failed(f, r.tree.Since(m, f)) })
	case overlay.KindDone:
		return overlay.Take(m, func(d overlay.Done) error { return r.worlds.noteDone(world, d) })
	case overlay.KindCollected:
		return overlay.Take(m, r.account.take)
	case overlay.KindProfile:
		return overlay.Take(m, func(p profile.Part) error { return r.account.profiles.add(world, &p) })
	case overlay.KindStalled:
		r.stalls.noteStall()
		return nil
	case overlay.KindWaits:
		return overlay.Take(m, r.stalls.take)
	case overlay.KindClaimed:
		return overlay.TakeAny(m, r.sharing.claimed)
	case overlay.KindWaiting:
		return overlay.Take(m, func(w overlay.Waiting) error { return r.stalls.ranksWait(world, w) })
	case overlay.KindInputAck:
		return overlay.Take(m, r.input.ack)
	}
	return fmt.Errorf("unexpected message of kind %d", m.Header.Kind)
}

// take is the sink of the root's stdio stream: it prints, in the reading
// goroutine, so that a terminal that stops holds up output and nothing else.
func (out *output) take(h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		if err := out.printing.does(func() error { return out.printer.print(body) }); err != nil {
			out.job.tree.Post(outputFailed{err})
		}
	case overlay.KindDrained:
		if err := out.printing.does(func() error { return out.printer.end(int(h.World)) }); err != nil {
			out.job.tree.Post(outputFailed{err})
		}
		out.job.tree.Post(outputDrained{int(h.World)})
	}
}
