package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/launcher/trees"
)

// countTimeout bounds the wait for the agents' counters.
const countTimeout = 5 * time.Second

// countersLate is the event of its end.
type countersLate struct{}

// account gathers the facts that --stats, --report, --trace, --profile and --timing
// tell at the end.
type account struct {
	job      *run
	stdout   io.Writer   // golaunch's own
	began    time.Time   // before the plan
	clock    trees.Clock // of the job's phases, beside those of its tree
	profiles profiles
	asked    bool
	timing   bool              // the root's clock is being measured
	of       *report.Collected // nil until the agents have answered
	failures []heard           // all; for --report only
}

// failure keeps a failure for the report.
func (acc *account) failure(f job.Failure, at time.Time) {
	if acc.job.options.Report.File != "" {
		acc.failures = append(acc.failures, heard{Failure: f, at: at})
	}
}

// gather asks the agents for their counters if somebody wants to know, and else
// ends the job. Nothing else is under way in the tree any more.
func (acc *account) gather() {
	o := &acc.job.options.Report
	wanted := o.Stats || o.File != "" || o.TraceFile != "" || o.ProfileFile != ""
	switch {
	case acc.asked:
	case !wanted || !acc.job.rooted():
		acc.job.over = true
	default:
		acc.asked = true
		acc.job.broadcast(link.Service, overlay.KindCollect, nil)
		if o.TraceFile != "" {
			acc.timing = acc.job.tree.PingRoot()
		}
		acc.await()
	}
}

func (acc *account) await() {
	acc.job.tree.PostAfter(countTimeout, countersLate{})
}

// late goes on without missing answers, unless profiles come still: there may be many.
func (acc *account) late() {
	if !acc.job.over && acc.profiles.more() {
		acc.await()
		return
	}
	acc.job.over = true
}

// take takes the agents' answer.
func (acc *account) take(c report.Collected) error {
	if !acc.asked || acc.of != nil {
		return errors.New("counters that nobody asked for")
	}
	acc.of = &c
	acc.endIfComplete()
	return nil
}

// RootTimed goes on once the clock of the root is known.
func (r *run) RootTimed() {
	if r.account.timing {
		r.account.timing = false
		r.account.endIfComplete()
	}
}

// endIfComplete ends the job once all facts are there.
func (acc *account) endIfComplete() { acc.job.over = acc.job.over || acc.of != nil && !acc.timing }

// privateMode keeps a file to its owner: it names hosts, and ways to reach them, or the
// work of a program.
const privateMode = 0o600

// prepareFile makes sure that the file of a flag can be written, before anything runs,
// and be read by nobody else where mode says so. Its contents stay until there is
// something to write. A named pipe is left alone: its reader would take it for the end.
func prepareFile(flag, path string, mode os.FileMode) error {
	if path == "" || path == standardOutput {
		return nil
	}
	pipe, err := isPipe(path, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if pipe {
		const write = 2 // W_OK
		if err := syscall.Access(path, write); err != nil {
			return fmt.Errorf("%s: %s: %w", flag, path, err)
		}
		return nil
	}
	f, err := unix.OpenOutput(path, 0, os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if info, serr := f.Stat(); mode == privateMode && serr == nil && info.Mode().IsRegular() {
		err = f.Chmod(mode) // one that was there before
	}
	return errors.Join(err, f.Close())
}

// tell prints and writes the counters, and returns golaunch's exit status.
func (acc *account) tell(status int) int {
	o := &acc.job.options.Report
	if o.Stats {
		if acc.of != nil {
			acc.job.report.Say("%s, cache %s\n%s", acc.shape(), acc.job.options.Launch.Cache, acc.of.Table())
		} else {
			acc.job.report.Say("no counters: the root agent has not answered")
		}
	}
	write := func(flag string, err error) {
		if err == nil {
			return
		}
		acc.job.report.Say("%s: %v", flag, err)
		if status == 0 {
			status = job.ExitLauncher
		}
	}
	if o.TraceFile != "" {
		write("--trace", acc.writeTrace())
	}
	if o.ProfileFile != "" {
		write("--profile", acc.writeProfile(status))
	}
	if o.File != "" {
		text, err := acc.fullReport(status).Encode()
		if err == nil {
			err = acc.writeFile("--report", o.File, 0o644, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		}
		write("--report", err)
	}
	return status
}

// fullReport returns the report of this job.
func (acc *account) fullReport(status int) *report.Report {
	ready := acc.job.tree.Known()
	doc := &report.Report{
		Job: report.Job{
			ID: acc.job.tree.ID(), Ranks: acc.job.plan.Size, Nodes: len(ready.Live), Degree: acc.job.plan.Degree,
			Bootstrap: acc.job.plan.Bootstrap, Cache: string(acc.job.options.Launch.Cache),
		},
		Begin: acc.began, End: time.Now(), Status: status,
		Failures: []report.Failure{}, Dead: []report.DeadHost{},
	}
	for _, a := range acc.job.plan.Apps {
		doc.Job.Apps = append(doc.Job.Apps, report.App{Argv: a.Argv, Ranks: a.N})
	}
	if cause := acc.job.verdict.earliest(); cause != nil {
		f := acc.reported(cause)
		doc.Cause = &f
	}
	for i := range acc.failures {
		doc.Failures = append(doc.Failures, acc.reported(&acc.failures[i]))
	}
	for _, d := range ready.Dead {
		doc.Dead = append(doc.Dead, report.DeadHost{Host: acc.job.hostName(d.Index), Phase: d.Phase, Cause: d.Cause})
	}
	doc.Phases = acc.phases()
	var c report.Collected
	if acc.of != nil {
		c = *acc.of
	}
	doc.Fill(c, acc.job.hostName)
	return doc
}

// classNames are the report's names of the classes of failures.
var classNames = map[job.CauseClass]string{
	job.CauseAbort: "abort", job.CauseSignal: "signal", job.CauseExit: "exit", job.CauseNoFinalize: "no finalize",
	job.CauseStart: "start", job.CauseNodeLost: "node lost", job.CauseProtocol: "protocol",
}

func (acc *account) reported(f *heard) report.Failure {
	return report.Failure{
		Class: classNames[f.Class], World: f.World, Rank: int(f.Rank), Host: acc.job.hostName(f.Host), PID: f.PID,
		Code: f.Code, Signal: f.Signal, Phase: f.Phase, Text: f.Text, At: f.at,
	}
}
