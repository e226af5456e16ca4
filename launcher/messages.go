package launcher

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/report"
	"github.com/golaunch/golaunch/tree"
)

// message handles one from the root. An error means that it broke the protocol.
func (r *run) message(m overlay.Message) error {
	switch m.Header.Kind {
	case overlay.KindReady:
		ready, err := overlay.As[overlay.Ready](m)
		if err == nil && r.subtree.ChildReady(m.From, ready) {
			r.treeReady()
		}
		return err
	case overlay.KindSign:
		q, err := overlay.As[overlay.SignRequest](m)
		if err == nil {
			r.sign(m.From, q)
		}
		return err
	case overlay.KindSummon:
		q, err := overlay.As[overlay.Summon](m)
		if err == nil {
			r.summon(m.From, q)
		}
		return err
	case overlay.KindSchedule:
		q, err := overlay.As[overlay.ScheduleRequest](m)
		if err == nil {
			r.schedule(q)
		}
		return err
	case overlay.KindStarted:
		s, err := overlay.As[overlay.Started](m)
		if err == nil {
			r.subtree.Watched(m.From)
			err = r.worldStarted(int(m.Header.World), s)
		}
		return err
	case overlay.KindSpawn:
		q, err := overlay.As[overlay.SpawnRequest](m)
		if err == nil {
			r.spawn(q)
		}
		return err
	case overlay.KindGrown:
		ready, err := overlay.As[overlay.Ready](m)
		switch {
		case err != nil:
		case r.growing == nil:
			err = errors.New("hosts that were not to be started")
		default:
			r.grown(ready, nil)
		}
		return err
	case overlay.KindFailure:
		f, err := overlay.As[job.Failure](m)
		if err == nil {
			r.failed(f, m.At.Add(-f.Age))
		}
		return err
	case overlay.KindDied:
		d, err := overlay.As[overlay.Died](m)
		if err == nil {
			r.hostsDied(d.Dead)
		}
		return err
	case overlay.KindDone:
		d, err := overlay.As[overlay.Done](m)
		if err == nil {
			err = r.worldDone(int(m.Header.World), d)
		}
		return err
	case overlay.KindCollected:
		c, err := overlay.As[report.Collected](m)
		if err == nil {
			err = r.collected(c)
		}
		return err
	case overlay.KindPong:
		p, err := overlay.As[overlay.Pong](m)
		if err == nil {
			err = r.rootClock(m.From, p)
		}
		return err
	case overlay.KindProgress:
		p, err := overlay.As[overlay.Progress](m)
		if err == nil {
			r.progress.below = p
		}
		return err
	case overlay.KindStalled:
		r.stalled()
		return nil
	case overlay.KindWaits:
		w, err := overlay.As[overlay.Waits](m)
		if err == nil {
			err = r.waits(w)
		}
		return err
	case overlay.KindNote:
		n, err := overlay.As[overlay.Note](m)
		if err == nil {
			r.noted(n)
		}
		return err
	case overlay.KindWaiting:
		w, err := overlay.As[overlay.Waiting](m)
		if err == nil {
			err = r.ranksWait(int(m.Header.World), w)
		}
		return err
	case overlay.KindInputAck:
		k, err := overlay.As[overlay.InputAck](m)
		if err == nil {
			err = r.stdin.ack(k)
		}
		return err
	}
	return fmt.Errorf("unexpected message of kind %d", m.Header.Kind)
}

// output is the sink of the root's stdio stream: it prints, in the reading
// goroutine, so that a terminal that stops holds up output and nothing else.
func (r *run) output(h tree.Header, body []byte) {
	switch h.Kind {
	case overlay.KindOutput:
		if err := r.printer.print(body); err != nil {
			r.inbox.Put(outputFailed{err})
		}
	case overlay.KindDrained:
		if err := r.printer.end(int(h.World)); err != nil {
			r.inbox.Put(outputFailed{err})
		}
		r.inbox.Put(outputDrained{int(h.World)})
	}
}
