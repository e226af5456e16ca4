package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

const (
	// How long processes that a rank left behind may go on writing to its output
	// once every local rank has ended.
	lingerTime = 500 * time.Millisecond
	endTimeout = 5 * time.Second // for the parent to acknowledge END
)

// endTimers are those of the end; nil while they do not run.
type endTimers struct {
	linger *time.Timer // until lingerOver
	beat   *time.Timer // until the next beatDue
	stuck  *time.Timer // until wardenStuck
}

// do carries out what the end's machine asks for.
func (a *Agent) do(actions []ending.Action) {
	for _, x := range actions {
		switch x.Do {
		case ending.StartNone:
			a.startNone()
		case ending.Settle:
			a.settleAll()
		case ending.Linger:
			a.put(&a.timers.linger, lingerTime, lingerOver{})
		case ending.StopLinger:
			a.timers.linger.Stop()
		case ending.Kill:
			if err := a.warden.Kill(job.Cold, x.Grace); err != nil {
				a.wardenLost(err)
			}
		case ending.Watch:
			a.put(&a.timers.stuck, x.Grace+wardenTimeout, wardenStuck{x.Number})
		case ending.Finish:
			_ = a.warden.Finish() // a warden that is lost shows otherwise
		case ending.Destroy:
			a.warden.Destroy()
		case ending.Beat:
			_ = a.warden.Beat() // the same
		case ending.BeatLater:
			a.put(&a.timers.beat, a.warden.BeatEvery(), beatDue{})
		case ending.Cut:
			a.output.CutOff(func(world int) bool { w := a.worlds[world]; return w == nil || w.living == 0 })
		case ending.CutAll:
			a.output.CutOff(func(int) bool { return true })
		case ending.Shut:
			a.shutPorts()
		case ending.Sweep:
			a.sweep(x.Err)
		case ending.Forsake:
			for _, w := range a.worlds {
				a.allEnded(w)
			}
		case ending.CallOff:
			a.stop()
		case ending.EndChildren:
			a.endChildren()
		case ending.Unfit:
			a.unfitFor(x.Err)
		default:
			panic(fmt.Sprintf("nothing carries out %v", x.Do)) // a bug of this package
		}
	}
}

// put has an event come after a while, in place of the one that the timer was set
// for before.
func (a *Agent) put(timer **time.Timer, after time.Duration, event overlay.Event) {
	if *timer != nil {
		(*timer).Stop()
	}
	*timer = time.AfterFunc(after, func() { a.inbox.Put(event) })
}

func (t *endTimers) stop() {
	for _, timer := range []*time.Timer{t.linger, t.beat, t.stuck} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// kill ends the local ranks. What they said over PMI before is heard first: an
// abort among it is their own.
func (a *Agent) kill(grace time.Duration) {
	a.hearLast()
	a.tearDown.Killed(grace)
	a.do(a.end.KillOrdered(grace))
}

// parentEnded begins the orderly end.
func (a *Agent) parentEnded() {
	a.hearLast()
	a.do(a.end.ParentEnded())
}

// hearLast takes what the ranks said before they were told to end: an abort among
// it is their own.
func (a *Agent) hearLast() {
	for _, w := range a.worlds {
		if w.view != nil && len(w.view.Ranks) > 0 {
			w.hear(w.view.Ranks...)
		}
	}
}

// startNone counts the ranks that wait as ended, those that wait for the job's
// files, too.
func (a *Agent) startNone() {
	if a.awaiting {
		a.awaiting = false
		a.files.Abandon()
	}
	a.startIf()
}

// settleAll settles every world whose local ranks have ended.
func (a *Agent) settleAll() {
	for _, w := range a.worlds {
		if w.launched && w.living == 0 {
			a.settle(w)
		}
	}
}

// settle gives this node's part in the end of a world.
func (a *Agent) settle(w *world) {
	if !w.settled {
		w.settled = true
		w.shut()
		a.giveBack(w)
		a.doneIf(w, w.done.Add(w.ended))
	}
}

// shutPorts closes where ranks could still connect.
func (a *Agent) shutPorts() {
	for _, w := range a.worlds {
		w.shut()
	}
}

// allEnded counts the local ranks of a world as ended with the warden.
func (a *Agent) allEnded(w *world) {
	w.ended.Merge(overlay.Done{Ended: w.living, Never: w.unborn})
	w.living, w.unborn = 0, 0
	defer a.allBorn()
	for _, r := range w.ranks {
		a.shutInput(r)
	}
	a.output.Complete(w.id)
	a.settle(w)
}

// unfitFor says why this node has no warden. Before the launch the reason is on
// the agent's standard error.
func (a *Agent) unfitFor(why error) {
	a.unfit = why
	if a.launch != nil {
		a.nodeFailed("start warden", why)
	}
}

// takeLateWarden has a warden that comes while the parent is lost belong to this
// agent still, which is to close it: one that was forgotten might stay, with its
// cgroup.
func (a *Agent) takeLateWarden() {
	a.wardenStart.Wait() // not long: it was called off
	for _, e := range a.inbox.Take(nil) {
		if up, ok := e.(wardenUp); ok && up.err == nil {
			a.warden = up.warden
		}
	}
}

// close releases everything. After a lost parent the warden kills what runs
// here as soon as it is closed; children see their link break and do the same.
func (a *Agent) close() {
	a.timers.stop()
	a.tearDown.stop()
	a.output.Abandon()
	a.files.Abandon()
	if a.subtree != nil {
		a.stop()
	}
	if a.libraries != nil {
		a.libraries.RemoveLeft()
	}
	if a.end.Lost() {
		a.parent.Close()
	} else {
		a.share.close() // before the launcher ends: the next job wants it
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		a.parent.End(ctx) // if the parent does not answer, there is nobody to tell
	}
	a.takeLateWarden()
	if a.warden != nil {
		a.warden.Close()
	}
	a.share.close()
	for _, dir := range a.scratchDirs {
		_ = unix.RemoveTree(dir) // where the warden was killed
		unix.RemoveRootCache(filepath.Dir(dir))
	}
	if a.subtree != nil {
		a.subtree.Close()
	}
	a.files.Close()
	if a.self.Relay() && !a.harness.shared() {
		// What relays that died below have left to this one, a subreaper: the
		// commands that reached their hosts.
		unix.EndChildren()
	}
	a.parent.Close()
	for _, f := range a.memLibraries {
		f.Close()
	}
	for _, w := range a.worlds {
		w.closeServers()
	}
	if a.pmix != nil {
		a.pmix.Close()
	}
	if a.libraries != nil {
		a.libraries.Close()
	}
	a.door.Close()
	a.output.Close()
	a.poller.Close()
}
