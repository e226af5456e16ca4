package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

const (
	endTimeout    = 5 * time.Second  // for a neighbor to acknowledge END
	wardenTimeout = 10 * time.Second // for the warden to end what it was told to end
	sweepTimeout  = 5 * time.Second  // for what a dead warden left behind to die
)

// linger gives what the ranks left behind a moment to finish writing; if
// nothing can write any more, nothing is waited for.
func (a *Agent) linger() {
	if a.idle {
		a.finishLocal()
		return
	}
	a.lingers = time.AfterFunc(lingerTime, func() { a.inbox.Put(lingerOver{}) })
}

// localIdle notes that nothing on this node can write to a rank's output any
// more.
func (a *Agent) localIdle() {
	a.idle = true
	a.output.drain()
	if a.launch != nil && a.unborn == 0 && a.living == 0 {
		a.finishLocal()
	}
}

// finishLocal kills what outlived the ranks and ends the warden.
func (a *Agent) finishLocal() {
	if a.finished {
		return
	}
	a.finished = true
	if a.lingers != nil {
		a.lingers.Stop()
	}
	switch {
	case a.warden != nil:
		a.warden.Finish()
		a.watchWarden(0)
	case a.self.Relay(): // which has none
		a.wardenLost(nil)
	}
}

// watchWarden gives the warden its time, and grace, to end the ranks.
func (a *Agent) watchWarden(grace time.Duration) {
	time.AfterFunc(grace+wardenTimeout, func() { a.inbox.Put(wardenStuck{}) })
}

// wardenStuck kills a warden that was told to end the ranks and has not: it is
// stopped, or worse. What it leaves is swept when its loss shows.
func (a *Agent) wardenStuck() {
	if !a.wardenGone && (a.finished || a.living > 0) {
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
	if !a.finished {
		a.finished = true
		text := fmt.Sprintf("%v; the ranks of the node were killed", err)
		ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
		defer cancel()
		if err := a.warden.Sweep(ctx, isAgent); err != nil {
			text = fmt.Sprintf("%v; %v", text, err)
		}
		a.fail(job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.self.Index, Phase: "running", Text: text})
		a.ended.Ended += a.living
		a.living, a.unborn = 0, 0
	}
	if a.launch != nil {
		a.output.finish()
		a.shutAllInput()
		a.doneIf(a.done.Add(a.ended))
	}
	a.leaveIf()
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
	go func() { // ends with endTimeout at the latest
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		a.family.End(ctx)
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
	a.output.abandon()
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
	if a.self.Relay() {
		// What relays that died below have left to this one, a subreaper: the
		// commands that reached their hosts.
		unix.EndChildren()
	}
	a.parent.Close()
	a.output.close()
	a.poller.Close()
}
