package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/mpi"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Number is the job's.
func (j *Job) Number() job.Number { return j.number }

// End is how far the end of the job is.
func (j *Job) End() *ending.Job { return &j.end }

// Launched reports whether the launch has come.
func (j *Job) Launched() bool { return j.launch != nil }

// Ranged is told that the node knows who it is.
func (j *Job) Ranged() {
	id := j.node.Common().JobID
	j.libraries = mpi.New(atMPI{station{j: j}}, mpi.Options{JobID: id, NodeJob: overlay.NodeJob(j.node.Self().Index, id)})
}

// OpenShare begins to take part in an allocation that other golaunch use, too; nil where there
// is none. The warden is to hold ShareFile, which is nil then.
func (j *Job) OpenShare() *overlay.Shared { return j.share.open() }

// ShareFile is what holds the job's share as long as it is open.
func (j *Job) ShareFile() *os.File { return j.share.file() }

// Turn carries out what servers want done. It is called after each batch of events.
func (j *Job) Turn() { j.serving.turn() }

// WardenUp is told that the node has its warden.
func (j *Job) WardenUp() {
	if j.stopped {
		if err := j.node.Warden().Signal(j.number, syscall.SIGSTOP); err != nil {
			j.node.WardenLost(err)
			return
		}
	}
	j.startIf()
}

// WardenSaid takes an event of the warden about the job.
func (j *Job) WardenSaid(e proc.Event) {
	switch e := e.(type) {
	case proc.Started:
		j.ranks.started(e)
	case proc.StartFailed:
		j.ranks.startFailed(e)
	case proc.Gone:
		j.Do(j.end.RanksGone(j.node.End()))
	case proc.Exited:
		j.ranks.exited(e)
	case proc.HelperStarted:
		j.libraries.Helpers.Started(e)
	case proc.HelperEnded:
		j.libraries.Helpers.Ended(e)
	}
}

// NodeLost says that the ranks here were killed, and why: their warden is lost.
func (j *Job) NodeLost(why error) {
	j.staging.awaiting = false
	j.staging.files.Abandon()
	j.NodeFailed("running", why)
}

// NodeFailed reports what this node can't go on without.
func (j *Job) NodeFailed(phase string, err error) { j.failures.nodeFailed(phase, err) }

// LostChild reports that a child of a name is lost. Known says that the launcher has a reason
// of its own to hear of it, also where ranks were told to end.
func (j *Job) LostChild(slot tree.Slot, name string, f job.Failure, known bool) {
	j.serving.lost(slot, fmt.Sprintf("host %s: %s", name, f.Text))
	if known { // they may have failed for want of it
		j.failures.report(f)
		return
	}
	j.failures.fail(f)
}

// Without stops waiting for a child that is lost.
func (j *Job) Without(slot tree.Slot) {
	for _, w := range j.worlds {
		j.worldWithout(w, slot)
	}
	j.accounts.skip(slot)
	j.stalls.skip(slot)
	j.stdin.drop(slot)
}

// Owes returns a child's debt at the end of the job, "" for none: counters also while its clock
// is being measured for them. Moves says of output that it goes up, or waits for the parent to
// take it.
func (j *Job) Owes(slot tree.Slot) (owed overlay.Owed, moves bool) {
	for _, w := range j.worlds {
		if w.done.owed[slot] {
			return overlay.OwesRanks, false
		}
	}
	if j.output.Owes(slot) {
		return overlay.OwesOutput, j.output.Moving()
	}
	if c := j.accounts.collection; c != nil && (c.gather.owed[slot] || c.timed[slot]) {
		return overlay.OwesCounters, false
	}
	return "", false
}

// Timed is told that the clock of a child is measured.
func (j *Job) Timed(slot tree.Slot) { j.accounts.timed(slot) }

// ModexOfLost answers a message of one node's PMIx server to another that is lost.
func (j *Job) ModexOfLost(h tree.Header, body []byte) { j.pmix.modexOfLost(h, body) }

// Leave begins the end of a job of which no rank lives, or of one on a node that leaves the tree.
func (j *Job) Leave() {
	j.output.Abandon()
	if j.linger != nil {
		j.linger.Stop()
	}
	j.staging.files.Abandon()
	if j.libraries != nil {
		j.libraries.RemoveLeft()
	}
}

// CloseShare gives the share back.
func (j *Job) CloseShare() { j.share.close() }

// RemoveScratch removes the job's directories, where the warden was killed.
func (j *Job) RemoveScratch() {
	for _, dir := range j.staging.dirs {
		_ = unix.RemoveTree(dir)
		unix.RemoveRootCache(filepath.Dir(dir))
	}
}

// Close lets go of what has answered its ranks.
func (j *Job) Close() {
	for _, w := range j.worlds {
		w.closeServers()
	}
	clear(j.worlds)
	j.early = nil
	j.profiling.close()
	if j.pmix.local != nil {
		j.pmix.local.Close()
	}
	if j.libraries != nil {
		j.libraries.Close()
	}
}

// Dispose releases what is left, after Close. It may be called from any goroutine: it waits for
// the parent to take a message that is on its way, or to be lost.
func (j *Job) Dispose() {
	j.staging.files.Close()
	j.output.Close()
}
