package jobs

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// FromParent takes a message of the parent about the job, and passes it on. An error means
// that the parent broke the protocol.
func (j *Job) FromParent(m overlay.Message) error {
	kind, body, below := m.Header.Kind, m.Body, j.node.Subtree()
	switch kind {
	case overlay.KindLaunch:
		j.accounts.add(phaseLaunch) // before anybody below can have it
		below.Broadcast(link.KVS, kind, j.number, body)
		return overlay.Take(m, j.takeLaunch)
	case overlay.KindSignal:
		below.Broadcast(link.Control, kind, j.number, body)
		return overlay.Take(m, j.Signal)
	case overlay.KindResize:
		below.Broadcast(link.Control, kind, j.number, body)
		return overlay.Take(m, func(w unix.Window) error { j.stdin.resize(w); return nil })
	case overlay.KindKill:
		below.Broadcast(link.Control, kind, j.number, body)
		return overlay.Take(m, func(k overlay.Kill) error { j.Kill(k.Grace); return nil })
	case overlay.KindClaim:
		below.Broadcast(link.Service, kind, j.number, body)
		return overlay.Take(m, j.share.claimAgain)
	case overlay.KindAskWaits:
		below.Broadcast(link.Control, kind, j.number, body)
		return overlay.Take(m, func(q overlay.WaitQuestion) error { j.stalls.ask(q); return nil })
	case overlay.KindCollect:
		below.Broadcast(link.Service, kind, j.number, body)
		return j.accounts.collect()
	case overlay.KindNamed:
		return overlay.Take(m, j.services.answered)
	case overlay.KindWorld:
		return j.takeWorld(m)
	case overlay.KindSpawned:
		return overlay.Take(m, j.spawns.spawned)
	case overlay.KindPMIxAnswer:
		return overlay.Take(m, j.pmix.passAnswer)
	case overlay.KindScheduled:
		return overlay.Take(m, j.services.scheduled)
	case overlay.KindEndWorld:
		return j.aboutWorld(m, j.endWorld)
	case overlay.KindForget:
		below.Worlds.Forget(j.number, int(m.Header.World))
		return j.aboutWorld(m, j.forget)
	}
	return fmt.Errorf("unexpected message of kind %d from the parent", kind)
}

// FromChild takes a message of a child about the job; mine is false for one that is not. An
// error means that the child broke the protocol.
func (j *Job) FromChild(m overlay.Message) (mine bool, err error) {
	switch m.Header.Kind {
	case overlay.KindStarted:
		err = j.aboutWorld(m, func(w *world) error {
			return overlay.Take(m, func(s overlay.Started) error {
				j.node.Subtree().Watched(m.From)
				j.childStarted(w, m.From, s)
				return nil
			})
		})
	case overlay.KindDone:
		err = j.aboutWorld(m, func(w *world) error {
			return overlay.Take(m, func(d overlay.Done) error { j.childDone(w, m.From, d); return nil })
		})
	case overlay.KindFailure:
		err = overlay.Take(m, func(f job.Failure) error {
			f.Age, f.Said = j.node.Subtree().Age(m, f)
			j.failures.pass(f)
			return nil
		})
	case overlay.KindInputAck:
		err = overlay.Take(m, func(k overlay.InputAck) error { return j.stdin.acked(m.From, k) })
	case overlay.KindCollected:
		err = overlay.Take(m, func(c report.Collected) error { return j.accounts.collected(m.From, c) })
	case overlay.KindStalled:
		j.stalls.tell()
	case overlay.KindWaits:
		err = overlay.Take(m, func(w overlay.Waits) error { return j.stalls.fromChild(m.From, w) })
	case overlay.KindName:
		err = j.services.fromChild(m)
	case overlay.KindPMIxCall:
		err = j.pmix.call(m)
	default:
		return false, nil
	}
	return true, err
}

// TakeInput takes standard input from the parent; an empty body is its end.
func (j *Job) TakeInput(h tree.Header, body []byte) { j.stdin.take(h, body) }

// TakeOutput takes what a child says of the ranks' output. It may be called from any goroutine,
// and waits while there is no room.
func (j *Job) TakeOutput(from tree.Slot, h tree.Header, body []byte) {
	j.output.FromChild(from, h, body)
}

// TakeFile takes a part of a file from the parent. It may be called from any goroutine.
func (j *Job) TakeFile(h tree.Header, body []byte) { j.staging.files.Take(h, body) }
