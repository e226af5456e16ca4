package launcher

import (
	"errors"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/tree"
)

// message handles one from the root. An error means that it broke the protocol.
func (r *run) message(m overlay.Message) error {
	world := int(m.Header.World)
	switch m.Header.Kind {
	case overlay.KindReady:
		return take(m, func(ready overlay.Ready) {
			if r.subtree.ChildReady(m.From, ready) {
				r.treeReady()
			}
		})
	case overlay.KindSign:
		return take(m, func(q overlay.SignRequest) { r.sign(m.From, q) })
	case overlay.KindAddress:
		return take(m, func(q overlay.AddrRequest) { r.address(m.From, q) })
	case overlay.KindSummon:
		return take(m, func(q overlay.Summon) { r.summon(m.From, q) })
	case overlay.KindSchedule:
		return take(m, r.schedule)
	case overlay.KindStarted:
		return overlay.Take(m, func(s overlay.Started) error {
			r.subtree.Watched(m.From)
			return r.worldStarted(world, s)
		})
	case overlay.KindSpawn:
		return take(m, r.spawn)
	case overlay.KindGrown:
		return overlay.Take(m, func(ready overlay.Ready) error {
			if r.growing == nil {
				return errors.New("hosts that were not to be started")
			}
			r.grown(ready, nil)
			return nil
		})
	case overlay.KindFailure:
		return take(m, func(f job.Failure) {
			age, _ := r.subtree.Age(m, f)
			r.failed(f, time.Now().Add(-age))
		})
	case overlay.KindDied:
		return take(m, func(d overlay.Died) { r.hostsDied(d.Dead) })
	case overlay.KindDone:
		return overlay.Take(m, func(d overlay.Done) error { return r.worldDone(world, d) })
	case overlay.KindCollected:
		return overlay.Take(m, r.collected)
	case overlay.KindProfile:
		return overlay.Take(m, func(p profile.Part) error { return r.profiles.add(world, &p) })
	case overlay.KindPong:
		return overlay.Take(m, func(p overlay.Pong) error { return r.rootClock(m, p) })
	case overlay.KindProgress:
		return take(m, func(p overlay.Progress) { r.progress.below = p })
	case overlay.KindStalled:
		r.stalled()
		return nil
	case overlay.KindWaits:
		return overlay.Take(m, r.waits)
	case overlay.KindNote:
		return take(m, r.note)
	case overlay.KindDemand:
		return take(m, func(d overlay.Demand) { r.demanded(d.Host) })
	case overlay.KindClaimed:
		return take(m, r.claimed)
	case overlay.KindWaiting:
		return overlay.Take(m, func(w overlay.Waiting) error { return r.ranksWait(world, w) })
	case overlay.KindInputAck:
		return overlay.Take(m, r.takenInput)
	}
	return fmt.Errorf("unexpected message of kind %d", m.Header.Kind)
}

// dropped reports whether a message that is found wrong here, and could not be on its
// way, is one that the root has passed on as it was: then nobody loses a link, as any on
// the way can have written it.
func (r *run) dropped(m overlay.Message, err error) bool {
	root, from := r.subtree.Host(m.From), m.Header.From
	if !overlay.ForLauncher(m.Header.Kind) || from == root.Index {
		return false
	}
	if r.forgers == nil {
		r.forgers = map[job.HostIndex]bool{}
	}
	if !r.forgers[from] {
		r.forgers[from] = true
		r.noted(overlay.Note{Level: overlay.NoteAlways, Host: from,
			Text: fmt.Sprintf("its message %q, as relayed by %s, was dropped: %v", overlay.Word(m.Header.Kind), r.hostName(root.Index), err)})
	}
	return true
}

// take is overlay.Take where any body that can be read is right.
func take[T any](m overlay.Message, do func(T)) error {
	return overlay.Take(m, func(body T) error {
		do(body)
		return nil
	})
}

// output is the sink of the root's stdio stream: it prints, in the reading
// goroutine, so that a terminal that stops holds up output and nothing else.
func (r *run) output(h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		if err := r.tearDown.printing.does(func() error { return r.printer.print(body) }); err != nil {
			r.inbox.Put(outputFailed{err})
		}
	case overlay.KindDrained:
		if err := r.tearDown.printing.does(func() error { return r.printer.end(int(h.World)) }); err != nil {
			r.inbox.Put(outputFailed{err})
		}
		r.inbox.Put(outputDrained{int(h.World)})
	}
}
