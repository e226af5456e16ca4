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
		ready, err := overlay.Decode[overlay.Ready](m.Body)
		if err == nil {
			err = r.checkReady(ready)
		}
		if err == nil && r.family.ChildReady(m.From, ready) {
			r.treeReady()
		}
		return err
	case overlay.KindSign:
		q, err := overlay.Decode[overlay.SignRequest](m.Body)
		if err == nil {
			r.sign(m.From, q)
		}
		return err
	case overlay.KindStarted:
		s, err := overlay.Decode[overlay.Started](m.Body)
		if err == nil {
			err = r.worldStarted(int(m.Header.World), s)
		}
		return err
	case overlay.KindSpawn:
		q, err := overlay.Decode[overlay.SpawnRequest](m.Body)
		if err == nil {
			err = r.spawn(m.From, q)
		}
		return err
	case overlay.KindGrown:
		ready, err := overlay.Decode[overlay.Ready](m.Body)
		if err == nil {
			err = r.checkReady(ready)
		}
		switch {
		case err != nil:
		case r.growing == nil:
			err = errors.New("hosts that were not to be started")
		default:
			r.grown(ready, nil)
		}
		return err
	case overlay.KindFailure:
		f, err := overlay.Decode[job.Failure](m.Body)
		if err == nil {
			r.failed(f)
		}
		return err
	case overlay.KindDied:
		d, err := overlay.Decode[overlay.Died](m.Body)
		if err == nil {
			r.hostsDied(d.Dead)
		}
		return err
	case overlay.KindDone:
		d, err := overlay.Decode[overlay.Done](m.Body)
		if err == nil {
			err = r.worldDone(int(m.Header.World), d)
		}
		return err
	case overlay.KindCollected:
		c, err := overlay.Decode[report.Collected](m.Body)
		if err == nil {
			err = r.collected(c)
		}
		return err
	case overlay.KindPong:
		p, err := overlay.Decode[overlay.Pong](m.Body)
		if err == nil {
			err = r.rootClock(m.From, p)
		}
		return err
	case overlay.KindProgress:
		p, err := overlay.Decode[overlay.Progress](m.Body)
		if err == nil {
			r.progress.below = p
		}
		return err
	case overlay.KindNote:
		n, err := overlay.Decode[overlay.Note](m.Body)
		if err == nil {
			r.verbose(n.Level, "host %s: %s", r.hostName(n.Host), n.Text)
		}
		return err
	case overlay.KindInputAck:
		k, err := overlay.Decode[overlay.InputAck](m.Body)
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
