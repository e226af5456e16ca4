package launcher

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// giveUp ends the job with an exit status of golaunch's own.
func (r *run) giveUp(status int, grace time.Duration) {
	if !r.decided {
		r.decided, r.status = true, status
	}
	r.kill(grace)
	r.endIf()
}

// giveUpFor ends the job for an error, with the exit status that it has, or ExitLauncher.
func (r *run) giveUpFor(err error) {
	r.report.Say("%v", err)
	r.giveUp(job.ExitOf(err, job.ExitLauncher), 0)
}

// kill has every rank ended: SIGTERM, and SIGKILL after grace.
func (r *run) kill(grace time.Duration) {
	if r.killed && grace > 0 {
		return
	}
	r.killed = true
	r.input.pump.close()
	r.input.terminal.end()
	r.staging.stop()
	r.tree.Kill(r.number, grace)
}

// endIf leaves the loop when there is nothing more to wait for.
func (r *run) endIf() {
	if !r.worlds.launched() { // nothing was launched
		if r.decided && r.tree.Up() && r.options.Report.TraceFile != "" {
			r.account.gather() // delays and failures are of interest all the more
			return
		}
		r.over = r.over || r.decided
		return
	}
	switch drained := r.worlds.drained(); {
	case r.worlds.active():
	case drained:
		r.account.clock.Mark("output drained")
		r.account.gather()
	case r.decided:
		r.tree.PostAfter(drainTimeout, outputStuck{})
	}
}

// windUp ends the display of a running job.
func (r *run) windUp() {
	r.input.terminal.end()
	if r.wider == nil {
		r.report.status.end()
	} else {
		r.report.status.erase()
	}
	r.notes.tell()
	r.account.clock.Mark("output drained")
}

// judge tells the outcome of the job, once its tree is down, and returns the exit
// status.
func (r *run) judge() int {
	if r.wider != nil {
		return 0
	}
	cause := r.verdict.cause()
	if r.worlds.launched() && !r.worlds.active() && (cause == nil || cause.Class != job.CauseNodeLost) { // else nobody knows how much was read
		r.input.pump.giveBack()
	}
	status := r.status
	if cause != nil && r.wholeEnded(cause) {
		status = r.status
	} else if cause != nil {
		r.tree.ExplainLoss(cause)
		if !r.signals.explainFailures() || r.options.Start.Verbose > 0 {
			r.report.failure(r, *cause)
		}
		if !r.decided {
			status = cause.ExitCode()
		}
	} else if err := r.unexplained(); err != nil && !r.decided {
		r.report.Say("%v", err)
		status = job.ExitLauncher
	}
	r.tellCut()
	if r.options.Report.Timing {
		r.report.timing(r)
	}
	return r.account.tell(status)
}

// tellCut tells of ranks that were killed as they ended.
func (r *run) tellCut() {
	if n := r.total.Cut; n > 0 {
		r.report.Note("%s not ended %v after SIGTERM, and %s killed: --grace TIME gives more",
			count(n, "rank had", "ranks had"), r.options.Ending.Grace, map[bool]string{true: "was", false: "were"}[n == 1])
	}
}

// wholeEnded tells of the manager's own end of all agents, which then explains the loss
// of a host, and reports whether there was one. A job that somebody cancelled so ends
// as one that is told to terminate, and is not started again.
func (r *run) wholeEnded(cause *job.Failure) bool {
	e := r.tree.Whole(cause)
	if e == nil {
		return false
	}
	r.report.Say("%v: the job is ended", e.Err)
	r.heldBy = nil // no host is to blame
	if !r.decided {
		r.status = job.ExitLauncher
		if e.Whole == bootstrap.WholeCancelled {
			r.decided, r.status = true, job.ExitTERM
		}
	}
	return true
}

// unexplained returns an error if ranks have not ended well, though no failure was told
// of: some agent's account of its ranks cannot be true.
func (r *run) unexplained() error {
	if !r.worlds.launched() || r.worlds.active() || r.total.Ranks == r.expected {
		return nil
	}
	return fmt.Errorf("%d of %s ended well, and no agent says why the others did not: the job cannot be trusted", r.total.Ranks, plural(r.expected, "rank"))
}

// endInput ends the reading of input.
func (r *run) endInput() {
	r.input.terminal.end() // also after a panic
	r.input.pump.close()
}

// close lets go of files, once no task works on them.
func (r *run) close() {
	if r.progress.timer != nil {
		r.progress.timer.Stop()
	}
	r.staging.files.Close()
	if !r.left { // else it waits for its reader still
		r.output.printer.close()
	}
}
