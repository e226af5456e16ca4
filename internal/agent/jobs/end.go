package jobs

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/overlay"
)

// lingerTime is how long processes that a rank left behind may go on writing to its output
// once every local rank has ended.
const lingerTime = 500 * time.Millisecond

// Do carries out what the end of the job asks for.
func (j *Job) Do(actions []ending.Action) {
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
				j.node.Post(func() { j.Do(j.end.LingerOver(j.node.End())) })
			})
		case ending.StopLinger:
			j.linger.Stop()
		case ending.Kill:
			if err := j.node.Warden().Kill(j.number, x.Grace); err != nil {
				j.node.WardenLost(err)
			}
		case ending.Cut:
			j.output.CutOff(func(world int) bool { w := j.worlds[world]; return w == nil || w.living == 0 })
		case ending.CutAll:
			j.output.CutOff(func(int) bool { return true })
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

// Kill ends the local ranks. What they said over PMI before is heard first: an
// abort among it is their own.
func (j *Job) Kill(grace time.Duration) {
	j.HearLast()
	j.node.Killed(grace)
	j.Do(j.end.KillOrdered(j.node.End(), grace))
}

// HearLast takes what the ranks said before they were told to end: an abort among
// it is their own.
func (j *Job) HearLast() {
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
	j.output.Complete(w.id)
	j.settle(w)
}
