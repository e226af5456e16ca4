package launcher

import (
	"context"
	"fmt"
	"os/signal"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
)

// giveUp ends the job with an exit status of golaunch's own.
func (r *run) giveUp(status int, grace time.Duration) {
	if !r.decided {
		r.decided, r.status = true, status
	}
	r.kill(grace)
	r.endIf()
}

// kill has every rank ended: SIGTERM, and SIGKILL after grace.
func (r *run) kill(grace time.Duration) {
	if r.killed && grace > 0 {
		return
	}
	r.killed = true
	r.stdin.close()
	r.terminal.end()
	r.staging.stop()
	r.subtree.Broadcast(link.Control, overlay.KindKill, overlay.Encode(overlay.Kill{Grace: grace}))
}

// endIf leaves the loop when there is nothing more to wait for.
func (r *run) endIf() {
	if r.worlds == nil { // nothing was launched
		if r.decided && r.ready && r.TraceFile != "" {
			r.count() // what took its time, or failed, is of interest all the more
			return
		}
		r.over = r.over || r.decided
		return
	}
	switch drained := r.drained(); {
	case r.active():
	case drained:
		r.clock.mark("output drained")
		r.count()
	case r.decided:
		time.AfterFunc(drainTimeout, func() { r.inbox.Put(outputStuck{}) })
	}
}

// finish takes the tree down and says how the job went.
func (r *run) finish() int {
	r.terminal.end()
	r.report.status.end()
	r.tellNotes()
	r.clock.mark("output drained")
	if !r.left { // else its link cannot come to a good end
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		r.subtree.End(ctx)
		r.awaitRoot(ctx)
	}
	r.clock.mark("tree down")
	cause := r.verdict.cause()
	if r.worlds != nil && !r.active() && (cause == nil || cause.Class != job.CauseNodeLost) { // else nobody knows what was read
		r.stdin.giveBack()
	}
	status := r.status
	if cause != nil {
		r.boot.explainLoss(cause)
		r.report.failure(r, *cause)
		if !r.decided {
			status = cause.ExitCode()
		}
	} else if err := r.unexplained(); err != nil && !r.decided {
		r.report.say("%v", err)
		status = job.ExitLauncher
	}
	if r.Timing {
		r.report.timing(r)
	}
	return r.tell(status)
}

// unexplained is an error if ranks have not ended well, though no failure was told
// of: some agent tells of its ranks what cannot be.
func (r *run) unexplained() error {
	if r.worlds == nil || r.active() || r.total.Ranks == r.expected {
		return nil
	}
	return fmt.Errorf("%d of %s ended well, and no agent says why the others did not: the job cannot be trusted", r.total.Ranks, plural(r.expected, "rank"))
}

// awaitRoot waits until the root has ended its side, so that the agents are
// gone when golaunch is. The host of one that is lost meanwhile is swept.
func (r *run) awaitRoot(ctx context.Context) {
	for r.subtree.Degree() > 0 {
		select {
		case <-r.woken:
			for _, e := range r.inbox.Take(nil) {
				if e, ok := e.(overlay.EdgeEnded); ok && r.subtree.Live(e.From) {
					r.subtree.Leave(e.From)
					if e.Err != nil {
						r.subtree.Sweep(e.From)
					}
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// close releases everything. It takes a few seconds at most, in which the job's
// signals are still taken, and come to nothing: the job is over, and has its status.
func (r *run) close() {
	defer signal.Stop(r.signals)
	r.terminal.end() // also after a panic
	r.stop()
	if r.progress.timer != nil {
		r.progress.timer.Stop()
	}
	if r.subtree != nil {
		r.subtree.Close()
	}
	if r.plan.kind.Orphans {
		unix.EndChildren()
	}
	r.stdin.close()
	r.boot.close()
	r.tasks.Wait()
	if r.growing != nil {
		r.growing.opening.close()
	}
	r.staging.files.Close()
	if !r.left { // else it waits for its reader still
		r.printer.close()
	}
}
