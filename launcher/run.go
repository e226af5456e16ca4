package launcher

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/launcher/trees"
	"github.com/golaunch/golaunch/tree"
)

// IO has the source of a job's input and the destinations of its output. Only the
// ranks' standard output is ever written to Stdout; golaunch's own words go to Stderr,
// beginning with "golaunch: ".
type IO struct {
	Stdin  *os.File // nil for none
	Stdout io.Writer
	Stderr io.Writer
}

// planPatience is the time for a plan before a line tells of it.
const planPatience = 2 * time.Second

// lossKnown is the time, beyond --lost-after, until the launcher hears of the loss of a
// node. Ranks that miss the node may end until then.
const lossKnown = time.Second

// drainTimeout is the time for the output's reader to read on, once a job that was told
// to end has ended.
const drainTimeout = 2 * time.Second

// Run carries out the job that o describes and returns golaunch's exit status
// (docs/errors.md). It handles SIGINT, SIGTERM, SIGHUP and the signals that
// are passed on to the ranks while it runs; ending ctx counts as SIGTERM.
func Run(ctx context.Context, o Options, stdio IO) int {
	report := newReporter(stdio.Stderr, o.Report.Quiet)
	status, err := runAttempts(ctx, o, stdio, report)
	if err != nil {
		report.Say("%v", err)
		return job.ExitOf(err, job.ExitUsage)
	}
	return status
}

// runAttempts carries out a job and its restarts, and returns golaunch's exit status, or
// an error, which has one.
func runAttempts(ctx context.Context, o Options, stdio IO, report *reporter) (status int, err error) {
	if err := o.Validate(); err != nil {
		return 0, err
	}
	o.attempt.passphrases = trees.NewPassphrases()
	caught := make(chan os.Signal, 8) // of all attempts: a signal at the end of one is for the next
	defer signal.Stop(caught)
	attempts := newRestarts(o)
	if err := attempts.clearLogs(report); err != nil {
		return 0, err
	}
	host, err := os.Hostname()
	if err != nil {
		return 0, job.Exit(job.ExitLauncher, "this machine has no name: %w", err)
	}
	var failed *failedAttempt
	var more *wider
	for {
		o, err := attempts.options()
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		patience := time.AfterFunc(planPatience, func() { report.Note("deciding where the ranks go") })
		plan, err := NewPlan(&o, host)
		patience.Stop()
		switch {
		case err != nil && failed != nil:
			report.Say("no restart: %v", err)
			if o.Hosts.Spares == 0 && len(failed.lost) > 0 {
				report.Note("--spares N keeps N hosts free for the ranks of those that are lost")
			}
			return status, nil
		case err != nil:
			return 0, err
		case failed != nil:
			attempts.tell(failed, plan, report)
		}
		if more == nil { // else the plan was told
			tellPlan(plan, &o, report)
		}
		status, failed, more, err = runOnce(ctx, o, plan, begin, stdio, report, caught)
		switch {
		case err != nil:
			return 0, err
		case more != nil:
			attempts.widen(more)
		case failed == nil || !attempts.again(ctx, failed, report):
			return status, nil
		}
	}
}

// tellPlan tells the user of surprises in a plan.
func tellPlan(p *Plan, o *Options, report *reporter) {
	for _, note := range slices.Concat(p.network.notes, p.placed.Notes) {
		report.Note("%s", note)
	}
	if o.Report.DryRun {
		return
	}
	if !p.kind.Here && o.Start.Verbose > 0 {
		report.Say("agents are started by %s", p.Bootstrap)
	}
	if p.outside != "" {
		report.Note("agents are started by %s, and so outside of what the manager of this job contains: %s", p.Bootstrap, p.outside)
	}
	if p.Crowded != "" {
		report.Note("%s", p.Crowded)
	}
}

// runOnce carries the job out once, which began with its plan. Beside its exit status
// it returns the remains of an attempt that failed by itself, or the way to begin anew
// if others use its slots.
func runOnce(ctx context.Context, o Options, plan *Plan, begin time.Time, stdio IO, report *reporter, caught chan os.Signal) (int, *failedAttempt, *wider, error) {
	if o.Report.DryRun {
		rows := maxRows
		if o.Start.Verbose > 0 {
			rows = 0
		}
		if _, err := io.WriteString(stdio.Stdout, plan.text(rows)); err != nil {
			return 0, nil, nil, job.Exit(job.ExitLauncher, "the output cannot be written: %w", err)
		}
		return 0, nil, nil, nil
	}
	if plan.network.order != "" && o.Start.Verbose > 0 {
		report.Say("order of hosts: %s", plan.network.order)
	}
	if text := plan.mapped(); text != "" && o.Start.Verbose > 0 {
		report.Say("map of ranks: %s", text)
	}
	if err := cmp.Or(prepareFile("--report", o.Report.File, 0o644), prepareFile("--trace", o.Report.TraceFile, privateMode), prepareFile("--profile", o.Report.ProfileFile, privateMode)); err != nil {
		return 0, nil, nil, err
	}
	c, err := newCold(ctx, o, plan, report, stdio, caught)
	if err != nil {
		return 0, nil, nil, job.Exit(job.ExitOf(err, job.ExitLauncher), "%w", err)
	}
	c.job.account.began = begin
	defer c.close()
	status := c.run()
	return status, c.job.outcome(), c.job.wider, nil
}

// run is one job while it runs: everything that a user sees of it. It belongs to the
// goroutine that hands it events.
type run struct {
	number  job.Number
	options Options
	plan    *Plan // without dead hosts from the launch on
	tree    jobTree
	report  *reporter

	signals  signals
	input    input
	output   output
	staging  *staging
	worlds   worlds
	sharing  sharing
	wider    *wider // it is to begin anew so
	left     bool   // without the tree's good end: nobody reads the output, or waits
	total    overlay.Done
	expected int // ranks of the worlds in total

	verdict verdict                  // why the job fails
	heldBy  map[job.HostIndex]string // the ranks of hosts that failed
	gone    []job.HostIndex          // of these hosts, those without ranks, which were no failure
	killed  bool
	status  int // exit status while nothing has failed
	decided bool
	over    bool

	account   account
	progress  progress
	notes     heldNotes
	stalls    stalls
	schedules schedules
}

// Events of the job.
type (
	outputDrained struct{ world int }
	outputStuck   struct{} // drainTimeout is over
	outputFailed  struct{ err error }
	stdinRead     struct {
		data []byte
		err  error
	}
)

// open opens the job's input and output.
func (r *run) open(stdio IO) error {
	o := &r.options
	err := unix.NeedFiles(trees.OwnFiles, "golaunch")
	if err != nil {
		return err
	}
	if r.staging, err = newStaging(o); err != nil {
		return err
	}
	if r.output.printer, err = newPrinter(*o, r.plan, r.tree.ID(), stdio, r.report); err != nil {
		return err
	}
	if o.Input.PTY {
		r.input.terminal = newUserTerminal(stdio, r.report)
	}
	r.input.pump, err = newStdinPump(stdio.Stdin, o.Input.Stdin == StdinAll || o.Input.PTY, r.tree.Post)
	return err
}

// join links the parts of the job to the job.
func (r *run) join() {
	r.worlds.job, r.signals.job, r.input.job, r.output.job = r, r, r, r
	r.account.job = r
	r.sharing.job, r.progress.job, r.notes.job, r.stalls.job, r.schedules.job = r, r, r, r, r
}

// timeLeft returns the time that the job has: Timeout, or its rest for one that began
// anew.
func (o *Options) timeLeft() time.Duration {
	if o.attempt.deadline.IsZero() {
		return o.Ending.Timeout
	}
	return time.Until(o.attempt.deadline)
}

// Ended reports whether the job waits for nothing more.
func (r *run) Ended() bool { return r.over }

// handle handles an event of the job.
func (r *run) handle(e overlay.Event) {
	switch e := e.(type) {
	case shareDue:
		r.sharing.retry()
	case outputDrained:
		r.worlds.noteDrained(e.world)
	case outputStuck:
		r.output.stuck()
	case outputFailed:
		r.output.failed(e.err)
	case scheduleMade:
		r.schedules.finish(e)
	case progressDue:
		r.progress.show()
	case notesDue:
		r.notes.tell()
	case waitersHeard:
		r.stalls.waitersHeard(e)
	case waitsLate:
		r.stalls.statesLate()
		r.stalls.timeUp()
	case countersLate:
		r.account.late()
	case interruptOld:
		r.signals.interruptOld(e)
	case stopNow:
		r.signals.stopSelf()
	case stdinRead:
		r.input.send(e)
	case filesSent:
		r.filesSent(e)
	default:
		panic(fmt.Sprintf("event %T has no handler", e)) // a bug of this package
	}
}

// failed takes a failure that golaunch did not provoke, with its time. The first that
// is heard of ends the job, unless it is to keep going; the cause shows in the end.
func (r *run) failed(f job.Failure, at time.Time) {
	r.account.failure(f, at)
	if f.Rank < 0 {
		r.holds(f.Host)
	}
	if idle := r.idle(f); idle != nil {
		r.gone = append(r.gone, idle...)
		if overlay.IsBreach(f) {
			r.report.Say("%s: %s", hostsText([]job.HostIndex{f.Host}, r.hostName), quoted(f.Text))
		}
		r.report.Note("%s, without ranks, lost: the job goes on", hostsText(idle, r.hostName))
		return
	}
	first := r.verdict.failures == 0
	if first && r.decided && f.Class == job.CauseNodeLost {
		return // it came down because the job does
	}
	lost := f.Class == job.CauseNodeLost
	var explains time.Duration
	if lost && !r.options.Ending.KeepGoing {
		explains = r.options.Start.LostAfter + lossKnown
	}
	r.verdict.add(f, at, explains)
	switch {
	case f.Finalized, r.options.Ending.KeepGoing && leavesOthers(f.Class):
	case r.plan.isRelay(f.Host) && !r.tree.Up():
		r.giveUp(f.ExitCode(), 0) // hosts that are still awaited make no difference
	case !r.killed:
		r.kill(r.options.Ending.Grace)
	}
}

// leavesOthers reports whether other ranks may go on after such a failure, where they are
// to (--keep-going). A rank that never started comes to no MPI_Init, in which the others
// would wait for it for ever.
func leavesOthers(c job.CauseClass) bool {
	return c != job.CauseNodeLost && c != job.CauseAbort && c != job.CauseStart
}

// idle returns the hosts whose loss matters to no rank: spares, and those with ranks of
// worlds that are over. It is nil for any other failure.
func (r *run) idle(f job.Failure) (hosts []job.HostIndex) {
	if f.Class != job.CauseNodeLost || f.Rank >= 0 || !r.worlds.running() || !r.worlds.active() || r.killed {
		return nil
	}
	used := r.worlds.used()
	for _, h := range tree.Hosts(f.Lost).List() { // the sender has all of them
		switch {
		case int(h) >= len(used): // a relay, or it is being started
			continue
		case used[h] > 0:
			return nil
		}
		if !slices.Contains(r.gone, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// RootLost ends the job, which has lost the root of its tree.
func (r *run) RootLost(root overlay.HostEntry, err error) {
	phase := phaseRunning
	if !r.worlds.launched() {
		phase = "launch"
	}
	r.failed(overlay.Lost(root.Index, phase, err, 0), time.Now())
	r.over = true
}

func (r *run) verbose(level int, format string, args ...any) {
	if level <= r.options.Start.Verbose {
		r.report.Say(format, args...)
	}
}

// hostName returns the user's name of a host.
func (r *run) hostName(h job.HostIndex) string {
	return r.plan.hostName(h)
}
