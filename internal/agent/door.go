package agent

import (
	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// The warden gives all ranks of the node, of whatever job, one descriptor at which they call
// that use the tree: so the door is the node's, and finds the job of each call.

// atDoor is the poller as the door uses it.
type atDoor struct{ a *Agent }

// Watch has ready called when fd can be read.
func (d atDoor) Watch(fd int, ready func()) error {
	return d.a.descriptors.watch(fd, serve.HandlerFunc(func(unix.Ready, []byte) { ready() }))
}

// CloseFD closes it.
func (d atDoor) CloseFD(fd int) { d.a.closeFD(fd) }

// treesOf finds the services of a world of one job, or of each.
func (a *Agent) treesOf(of job.Number, world int) (found []*servetree.Server) {
	for _, j := range a.jobs.list() {
		if of != job.TreeItself && of != j.Number() {
			continue
		}
		if s := j.TreeOf(world); s != nil {
			found = append(found, s)
		}
	}
	return found
}

// ownerOf finds the rank of a process, as servetree.Door wants it.
func (a *Agent) ownerOf(pid int) (o servetree.Owner, known, notYet bool) {
	proc.Leader(pid, func(pid int) bool {
		for _, j := range a.jobs.list() {
			if r, is := j.RankOf(pid); is {
				o, known = servetree.Owner{Job: j.Number(), Rank: r}, true
				return true
			}
		}
		return false
	})
	return o, known, !known && a.jobs.some((*jobs.Job).Bearing)
}
