package launcher

import (
	"context"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// finish takes the tree down and says how the job went.
func (r *run) finish() int {
	r.report.status.end()
	r.clock.mark("output drained")
	if !r.left { // else its link cannot come to a good end
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		defer cancel()
		r.family.End(ctx)
		r.awaitRoot(ctx)
	}
	r.clock.mark("tree down")
	if r.worlds != nil && !r.active() && (r.cause == nil || r.cause.Class != job.CauseNodeLost) { // else nobody knows what was read
		r.stdin.giveBack()
	}
	status := r.status
	if r.cause != nil {
		r.report.failure(r)
		if !r.decided {
			status = r.cause.ExitCode()
		}
	}
	if r.Timing {
		r.report.timing(r)
	}
	return r.tell(status)
}

// awaitRoot waits until the root has ended its side, so that the agents are
// gone when golaunch is.
func (r *run) awaitRoot(ctx context.Context) {
	for r.family.Degree() > 0 {
		select {
		case <-r.woken:
			for _, e := range r.inbox.Take(nil) {
				if e, ok := e.(overlay.EdgeEnded); ok && r.family.Live(e.From) {
					r.family.Leave(e.From)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// close releases everything.
func (r *run) close() {
	r.stop()
	if r.progress.timer != nil {
		r.progress.timer.Stop()
	}
	if r.family != nil {
		r.family.Close()
	}
	if r.plan.Bootstrap == BootstrapExec {
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
