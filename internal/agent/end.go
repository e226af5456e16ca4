package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// endTimeout is the time for the parent to acknowledge END.
const endTimeout = 5 * time.Second

// life is how far the end of the agent is, and of its warden.
type life struct {
	n           *Agent
	end         ending.Node
	warden      jobs.Warden
	wardenStart sync.WaitGroup // until it is up, or failed
	timers      endTimers
	tearDown    tearDown // the time that children have to end
	unfit       error    // why this node can have no ranks: the agent ends before the launch
	bereft      error    // why it can have no more: its warden was lost, and swept up after
	alone       bool     // the children have ended or are given up
	demanded    bool     // a manager has told this agent to terminate
	orphaned    bool     // and the parent is lost since
}

// endTimers are those of the end; nil while they do not run.
type endTimers struct {
	beat  *time.Timer                // until the next beatDue
	stuck map[job.Number]*time.Timer // until wardenStuck, for jobs and the node
}

// do carries out what the end of the node asks for.
func (l *life) do(actions []ending.Action) {
	for i, x := range actions {
		if x.Job != 0 {
			if j := l.n.jobs.here(x.Job); j != nil {
				j.Do(actions[i : i+1])
			}
			continue
		}
		switch x.Do {
		case ending.Watch:
			l.watch(job.TreeItself, x)
		case ending.Finish:
			_ = l.warden.Finish() // a warden that is lost shows otherwise
		case ending.Destroy:
			l.warden.Destroy()
		case ending.Beat:
			_ = l.warden.Beat() // the same
		case ending.BeatLater:
			l.put(&l.timers.beat, l.warden.BeatEvery(), beatDue{})
		case ending.Sweep:
			l.sweep(x.Err)
		case ending.CallOff:
			l.n.stop()
		case ending.EndChildren:
			l.endChildren()
		case ending.Unfit:
			l.unfitFor(x.Err)
		default:
			panic(fmt.Sprintf("nothing carries out %v", x.Do)) // a bug of this package
		}
	}
}

// ends are how far the ends of the jobs are.
func (a *Agent) ends() (all []ending.Numbered) {
	for _, j := range a.jobs.list() {
		all = append(all, ending.Numbered{Number: j.Number(), Job: j.End()})
	}
	return all
}

// watch gives the warden its time for a job, or for the node.
func (l *life) watch(n job.Number, x ending.Action) {
	if l.timers.stuck == nil {
		l.timers.stuck = map[job.Number]*time.Timer{}
	}
	timer := l.timers.stuck[n]
	l.put(&timer, x.Grace+wardenTimeout, wardenStuck{x.Number})
	l.timers.stuck[n] = timer
}

// put has an event come after a while, in place of the one that the timer was set
// for before.
func (l *life) put(timer **time.Timer, after time.Duration, event overlay.Event) {
	if *timer != nil {
		(*timer).Stop()
	}
	*timer = time.AfterFunc(after, func() { l.n.inbox.Put(event) })
}

func (t *endTimers) stop() {
	if t.beat != nil {
		t.beat.Stop()
	}
	for _, timer := range t.stuck {
		timer.Stop()
	}
}

// forget lets go of a job.
func (t *endTimers) forget(n job.Number) {
	if timer := t.stuck[n]; timer != nil {
		timer.Stop()
		delete(t.stuck, n)
	}
}

// parentEnded begins the orderly end.
func (l *life) parentEnded() {
	for _, j := range l.n.jobs.list() {
		j.HearLast()
	}
	l.do(l.end.ParentEnded(l.n.ends()...))
}

// unfitFor says why this node has no warden. Before the launch the reason is on
// the agent's standard error.
func (l *life) unfitFor(why error) {
	l.unfit = why
	for _, j := range l.n.jobs.list() {
		if j.Launched() {
			j.NodeFailed("start warden", why)
		}
	}
}

// takeLateWarden has a warden that comes while the parent is lost belong to this
// agent still, which is to close it: one that was forgotten might stay, with its
// cgroup.
func (l *life) takeLateWarden() {
	l.wardenStart.Wait() // not long: it was called off
	for _, e := range l.n.inbox.Take(nil) {
		if up, ok := e.(wardenUp); ok && up.err == nil {
			l.warden = up.warden
		}
	}
}

// close releases everything. After a lost parent the warden kills what runs
// here as soon as it is closed; children see their link break and do the same.
func (a *Agent) close() {
	a.life.timers.stop()
	a.life.tearDown.stop()
	a.jobs.close()
	for _, j := range a.jobs.list() {
		j.Leave()
	}
	if a.subtree != nil {
		a.stop()
	}
	if a.life.end.Lost() {
		a.parent.Close()
	} else {
		a.cold.CloseShare() // before the launcher ends: the next job wants it
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		a.parent.End(ctx) // if the parent does not answer, there is nobody to tell
	}
	a.life.takeLateWarden()
	if a.life.warden != nil {
		a.life.warden.Close()
	}
	a.cold.CloseShare()
	for _, j := range a.jobs.list() {
		j.RemoveScratch()
	}
	if a.subtree != nil {
		a.subtree.Close()
	}
	if a.self.Relay() && !a.harness.shared() {
		// What relays that died below have left to this one, a subreaper: the
		// commands that reached their hosts.
		unix.EndChildren()
	}
	a.parent.Close()
	for _, f := range a.machine.memFiles {
		f.Close()
	}
	for _, j := range a.jobs.list() {
		j.Close()
		j.Dispose()
	}
	a.disposals.Wait()
	a.door.Close()
	a.poller.Close()
}
