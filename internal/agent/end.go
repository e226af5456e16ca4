package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
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

// life is how far the end of the agent is, and of its warden.
type life struct {
	n           *Agent
	end         ending.Node
	warden      Warden
	wardenStart sync.WaitGroup // until it is up, or failed
	timers      endTimers
	tearDown    tearDown // the time that children have to end
	unfit       error    // why this node can have no ranks: the agent ends before the launch
	alone       bool     // the children have ended or are given up
	demanded    bool     // a manager has told this agent to terminate
	orphaned    bool     // and the parent is lost since
}

// endTimers are those of the end; nil while they do not run.
type endTimers struct {
	beat  *time.Timer // until the next beatDue
	stuck *time.Timer // until wardenStuck
}

// do carries out what the end of the node asks for.
func (l *life) do(actions []ending.Action) {
	for i, x := range actions {
		if x.Job != 0 {
			l.n.job.do(actions[i : i+1])
			continue
		}
		switch x.Do {
		case ending.Watch:
			l.put(&l.timers.stuck, x.Grace+wardenTimeout, wardenStuck{x.Number})
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

// do carries out what the end of the job asks for.
func (j *Job) do(actions []ending.Action) {
	for _, x := range actions {
		switch x.Do {
		case ending.StartNone:
			j.startNone()
		case ending.Settle:
			j.settleAll()
		case ending.Linger:
			if j.linger != nil {
				j.linger.Stop()
			}
			j.linger = time.AfterFunc(lingerTime, func() {
				j.node.Post(func() { j.do(j.end.LingerOver(j.node.End())) })
			})
		case ending.StopLinger:
			j.linger.Stop()
		case ending.Kill:
			if err := j.node.Warden().Kill(job.Cold, x.Grace); err != nil {
				j.node.WardenLost(err)
			}
		case ending.Cut:
			j.node.Output().CutOff(func(world int) bool { w := j.worlds[world]; return w == nil || w.living == 0 })
		case ending.CutAll:
			j.node.Output().CutOff(func(int) bool { return true })
		case ending.Shut:
			j.shutPorts()
		case ending.Forsake:
			for _, w := range j.worlds {
				j.allEnded(w)
			}
		case ending.Watch: // the warden
			j.node.WatchWarden(x)
		default:
			panic(fmt.Sprintf("nothing carries out %v of a job", x.Do)) // a bug of this package
		}
	}
}

// ends are how far the ends of the jobs are.
func (a *Agent) ends() []ending.Numbered {
	return []ending.Numbered{{Number: a.job.number, Job: &a.job.end}}
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
	for _, timer := range []*time.Timer{t.beat, t.stuck} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// kill ends the local ranks. What they said over PMI before is heard first: an
// abort among it is their own.
func (j *Job) kill(grace time.Duration) {
	j.hearLast()
	j.node.Killed(grace)
	j.do(j.end.KillOrdered(j.node.End(), grace))
}

// parentEnded begins the orderly end.
func (l *life) parentEnded() {
	l.n.job.hearLast()
	l.do(l.end.ParentEnded(l.n.ends()...))
}

// hearLast takes what the ranks said before they were told to end: an abort among
// it is their own.
func (j *Job) hearLast() {
	for _, w := range j.worlds {
		if w.servers.view != nil && len(w.servers.view.Ranks) > 0 {
			w.hear(w.servers.view.Ranks...)
		}
	}
}

// startNone counts the ranks that wait as ended, those that wait for the job's
// files, too.
func (j *Job) startNone() {
	if j.staging.awaiting {
		j.staging.awaiting = false
		j.staging.files.Abandon()
	}
	j.startIf()
}

// settleAll settles every world whose local ranks have ended.
func (j *Job) settleAll() {
	for _, w := range j.worlds {
		if w.launched && w.living == 0 {
			j.settle(w)
		}
	}
}

// settle gives this node's part in the end of a world.
func (j *Job) settle(w *world) {
	if !w.settled {
		w.settled = true
		w.shut()
		j.placing.giveBack(w)
		j.doneIf(w, w.done.Add(w.ended))
	}
}

// shutPorts closes where ranks could still connect.
func (j *Job) shutPorts() {
	for _, w := range j.worlds {
		w.shut()
	}
}

// allEnded counts the local ranks of a world as ended with the warden.
func (j *Job) allEnded(w *world) {
	w.ended.Merge(overlay.Done{Ended: w.living, Never: w.unborn})
	w.living, w.unborn = 0, 0
	defer j.owners.allBorn()
	for _, r := range w.ranks {
		j.stdin.shut(r)
	}
	j.node.Output().Complete(w.id)
	j.settle(w)
}

// unfitFor says why this node has no warden. Before the launch the reason is on
// the agent's standard error.
func (l *life) unfitFor(why error) {
	l.unfit = why
	if l.n.job.launch != nil {
		l.n.job.failures.nodeFailed("start warden", why)
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
	if a.job.linger != nil {
		a.job.linger.Stop()
	}
	a.life.tearDown.stop()
	a.output.Abandon()
	a.job.staging.files.Abandon()
	if a.subtree != nil {
		a.stop()
	}
	if a.job.libraries != nil {
		a.job.libraries.RemoveLeft()
	}
	if a.life.end.Lost() {
		a.parent.Close()
	} else {
		a.job.share.close() // before the launcher ends: the next job wants it
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		a.parent.End(ctx) // if the parent does not answer, there is nobody to tell
	}
	a.life.takeLateWarden()
	if a.life.warden != nil {
		a.life.warden.Close()
	}
	a.job.share.close()
	for _, dir := range a.job.staging.dirs {
		_ = unix.RemoveTree(dir) // where the warden was killed
		unix.RemoveRootCache(filepath.Dir(dir))
	}
	if a.subtree != nil {
		a.subtree.Close()
	}
	a.job.staging.files.Close()
	if a.self.Relay() && !a.harness.shared() {
		// What relays that died below have left to this one, a subreaper: the
		// commands that reached their hosts.
		unix.EndChildren()
	}
	a.parent.Close()
	for _, f := range a.machine.memFiles {
		f.Close()
	}
	for _, w := range a.job.worlds {
		w.closeServers()
	}
	if a.job.pmix.local != nil {
		a.job.pmix.local.Close()
	}
	if a.job.libraries != nil {
		a.job.libraries.Close()
	}
	a.job.door.Close()
	a.output.Close()
	a.poller.Close()
}
