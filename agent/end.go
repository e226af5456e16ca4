package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/overlay"
)

const (
	endTimeout = 5 * time.Second // for a neighbor to acknowledge END
	// For the warden to end what it was told to end: longer than it tries to by
	// itself, so that what it could not end is named by its own word. It is killed
	// only if that word does not come.
	wardenTimeout = proc.KillLimit + 5*time.Second
	sweepTimeout  = 5 * time.Second // for what a dead warden left behind to die
)

// linger gives what the ranks left behind a moment to finish writing; if
// nothing can write any more, nothing is waited for.
func (a *Agent) linger() {
	if a.output.quiet() {
		a.clean()
		return
	}
	a.lingers = time.AfterFunc(lingerTime, func() { a.inbox.Put(lingerOver{}) })
}

// stopLinger waits no longer: another world has ranks here. What earlier ones
// left behind ends with it at the latest.
func (a *Agent) stopLinger() {
	if a.lingers != nil {
		a.lingers.Stop()
		a.lingers = nil
		a.settleAll()
	}
}

// localIdle notes that nothing on this node can write to a rank's output any
// more.
func (a *Agent) localIdle() {
	if a.lingers != nil {
		a.clean()
	}
}

// clean has the warden kill what outlived the ranks, which have ended: nobody
// waits for that but the end of their output, and of the job.
func (a *Agent) clean() {
	if a.living > 0 || a.cleaning || a.finished {
		return
	}
	if a.lingers != nil {
		a.lingers.Stop()
		a.lingers = nil
	}
	a.settleAll()
	if a.warden == nil || a.wardenGone {
		return
	}
	a.cleaning = true
	if err := a.warden.Kill(0); err != nil {
		a.wardenLost(err)
		return
	}
	a.watchWarden(0)
}

// cleaned notes that nothing is left of what the ranks that have ended left
// behind. Those of a new world may run by now.
func (a *Agent) cleaned() {
	if a.cleaning {
		a.cleaning = false
		a.output.finish(func(world int) bool { w := a.worlds[world]; return w == nil || w.living == 0 })
	}
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
		w.closePort()
		if w == a.first {
			a.closePMGR()
		}
		a.doneIf(w, w.done.Add(w.ended))
	}
}

// finishLocal kills what runs here and ends the warden.
func (a *Agent) finishLocal() {
	if a.finished {
		return
	}
	a.finished = true
	if a.lingers != nil {
		a.lingers.Stop()
	}
	for _, w := range a.worlds {
		w.closePort()
	}
	a.closePMGR()
	if a.warden != nil {
		a.warden.Finish()
		a.watchWarden(0)
	}
}

// bearTime is how long a warden may be silent while it starts ranks: it waits for
// each program to be read, from a slow network file system maybe.
const bearTime = time.Minute

// beat tells the warden, again and again, that this event loop turns, and kills
// it when it has not answered for too long: it is stopped, or worse. Its loss
// then ends what it leaves. Beats are counted, not time, which goes on while
// this process is stopped.
func (a *Agent) beat() {
	every := a.warden.BeatEvery()
	if a.wardenGone || every == 0 {
		return
	}
	patience := every * proc.BeatsPerLoss
	if a.bearing() {
		patience = max(patience, bearTime)
	}
	if silent := time.Duration(a.unanswered) * every; silent > patience && !a.finished {
		a.deaf = fmt.Errorf("the warden was silent for %v and was killed", silent)
		a.warden.Destroy()
		return
	}
	a.unanswered++
	_ = a.warden.Beat() // a warden that is lost shows otherwise
	a.beats = time.AfterFunc(every, func() { a.inbox.Put(beatDue{}) })
}

// bearing reports whether the warden has ranks to start.
func (a *Agent) bearing() bool {
	for _, w := range a.worlds {
		if w.unborn > 0 {
			return true
		}
	}
	return false
}

// watchWarden gives the warden its time, and grace, to end the ranks.
func (a *Agent) watchWarden(grace time.Duration) {
	if a.stuck != nil {
		a.stuck.Stop()
	}
	a.patience++
	event := wardenStuck{a.patience}
	a.stuck = time.AfterFunc(grace+wardenTimeout, func() { a.inbox.Put(event) })
}

// wardenStuck kills a warden that was told to end the ranks and has not: it is
// stopped, or worse. What it leaves is swept when its loss shows.
func (a *Agent) wardenStuck(patience int) {
	if patience == a.patience && !a.wardenGone && (a.finished || a.cleaning || a.killed && a.living > 0) {
		a.finished = false
		a.warden.Destroy()
	}
}

// wardenLost handles the end of the warden: expected once everything local is
// finished, a failure of the node before that.
func (a *Agent) wardenLost(err error) {
	if a.wardenGone {
		return
	}
	a.wardenGone = true
	if a.deaf != nil {
		err = a.deaf
	}
	if a.launch == nil && !a.finished {
		a.unfitFor(err)
		return
	}
	if !a.finished {
		text := fmt.Sprintf("%v; the ranks of the node were killed", err)
		if a.tooFew != nil {
			text = fmt.Sprintf("%v, or use fewer ranks per host; %s", a.tooFew, text)
		}
		ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
		defer cancel()
		if err := a.warden.Sweep(ctx, isAgent); err != nil {
			text = fmt.Sprintf("%v; %v", text, err)
			if a.killed { // of a failure in a job that ends nobody is told
				a.note(0, "%v", err)
			}
		}
		a.awaiting = false
		a.files.abandon()
		a.nodeFailed("running", errors.New(text))
	}
	a.finished, a.cleaning, a.living = true, false, 0
	a.output.finish(func(int) bool { return true })
	for _, w := range a.worlds {
		a.allEnded(w)
	}
	a.leaveIf()
}

// unfitFor ends an agent that has no warden. Before the launch its parent then
// finds the host dead, with the reason on the agent's standard error; afterwards
// the job has lost a node.
func (a *Agent) unfitFor(err error) {
	a.unfit = err
	if a.launch != nil {
		a.nodeFailed("start warden", err)
	}
	a.parentLost()
}

// allEnded counts the local ranks of a world as ended with the warden.
func (a *Agent) allEnded(w *world) {
	w.ended.Ended += w.living
	w.living, w.unborn = 0, 0
	for _, r := range w.ranks {
		a.shutInput(r)
	}
	a.output.complete(w.id)
	a.settle(w)
}

// isAgent recognises the agents that this one started with fork: they end by
// themselves when their link does.
func isAgent(pid int) bool {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(words, []byte("\x00"+overlay.AgentWord))
}

// endFamily begins the orderly end that the parent's END asks for. Whatever
// still runs is killed: the launcher has decided.
func (a *Agent) endFamily() {
	if a.leaving {
		return
	}
	a.leaving = true
	if a.family == nil {
		a.over = true
		return
	}
	a.stop()
	a.kill(0)
	a.finishLocal()
	children := a.family.Edges()
	go func() { // ends with endTimeout at the latest
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		overlay.EndEdges(ctx, children)
		a.inbox.Put(familyEnded{})
	}()
}

// leaveIf ends this agent in good order once its children and its warden have
// ended.
func (a *Agent) leaveIf() {
	if !a.leaving || !a.familyOver || a.warden != nil && !a.wardenGone {
		return
	}
	a.over = true
}

// parentLost kills everything at once: a node without a launcher has no job.
func (a *Agent) parentLost() { a.over, a.lost = true, true }

// close releases everything. After a lost parent the warden kills what runs
// here as soon as it is closed; children see their link break and do the same.
func (a *Agent) close() {
	for _, t := range []*time.Timer{a.lingers, a.beats, a.stuck} {
		if t != nil {
			t.Stop()
		}
	}
	a.output.abandon()
	a.files.abandon()
	if a.family != nil {
		a.stop()
	}
	if a.lost {
		a.parent.Close()
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		a.parent.End(ctx) // if the parent does not answer, there is nobody to tell
	}
	if a.warden != nil {
		a.warden.Close()
	}
	if a.family != nil {
		a.family.Close()
	}
	a.files.close()
	if a.self.Relay() {
		// What relays that died below have left to this one, a subreaper: the
		// commands that reached their hosts.
		unix.EndChildren()
	}
	a.parent.Close()
	if a.memLibrary != nil {
		a.memLibrary.Close()
	}
	a.closeService()
	a.output.close()
	a.poller.Close()
}
