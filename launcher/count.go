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
)

// countTimeout bounds how long the agents' counters are waited for.
const countTimeout = 5 * time.Second

// countersLate is the event of its end.
type countersLate struct{}

// counted is what --stats, --report, --trace and --profile want to know at the end.
type counted struct {
	asked    bool
	timing   bool              // the root's clock is being measured
	of       *report.Collected // nil until the agents have answered
	failures []heard           // all; for --report only
}

// failure keeps what the report tells.
func (c *counted) failure(r *run, f job.Failure, at time.Time) {
	if r.options.Report.File != "" {
		c.failures = append(c.failures, heard{Failure: f, at: at})
	}
}

// count asks the agents for their counters if somebody wants to know, and else
// ends the job. Nothing else is under way in the tree any more.
func (r *run) count() {
	switch {
	case r.counted.asked:
	case !r.options.Report.Stats && r.options.Report.File == "" && r.options.Report.TraceFile == "" && r.options.Report.ProfileFile == "", !r.tree.rooted():
		r.over = true
	default:
		r.counted.asked = true
		r.tree.broadcast(link.Service, overlay.KindCollect, nil)
		if r.options.Report.TraceFile != "" {
			r.counted.timing = r.tree.pingRoot()
		}
		r.awaitCounters()
	}
}

func (r *run) awaitCounters() {
	r.tree.postAfter(countTimeout, countersLate{})
}

// countersLate goes on without what has not come, unless profiles come still: there
// may be many.
func (r *run) countersLate() {
	if !r.over && r.profiles.more() {
		r.awaitCounters()
		return
	}
	r.over = true
}

// collected takes what the agents have answered.
func (r *run) collected(c report.Collected) error {
	if !r.counted.asked || r.counted.of != nil {
		return errors.New("counters that nobody asked for")
	}
	r.counted.of = &c
	r.countedIf()
	return nil
}

// rootTimed goes on once the clock of the root is known.
func (r *run) rootTimed() {
	if r.counted.timing {
		r.counted.timing = false
		r.countedIf()
	}
}

// countedIf ends the job once all is told.
func (r *run) countedIf() { r.over = r.over || r.counted.of != nil && !r.counted.timing }

// privateMode keeps a file to its owner: it names hosts, and how they are reached, or
// what a program does.
const privateMode = 0o600

// prepareFile makes sure that the file of a flag can be written, before anything
// runs, and be read by nobody else where mode says so. What is in it stays until there is
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
func (r *run) tell(status int) int {
	if r.options.Report.Stats {
		if r.counted.of != nil {
			r.report.say("%s, cache %s\n%s", r.shape(), r.options.Launch.Cache, r.counted.of.Table())
		} else {
			r.report.say("no counters: the root agent has not answered")
		}
	}
	write := func(flag string, err error) {
		if err == nil {
			return
		}
		r.report.say("%s: %v", flag, err)
		if status == 0 {
			status = job.ExitLauncher
		}
	}
	if r.options.Report.TraceFile != "" {
		write("--trace", r.writeTrace())
	}
	if r.options.Report.ProfileFile != "" {
		write("--profile", r.writeProfile(status))
	}
	if r.options.Report.File != "" {
		text, err := r.fullReport(status).Encode()
		if err == nil {
			err = r.writeFile("--report", r.options.Report.File, 0o644, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		}
		write("--report", err)
	}
	return status
}

// fullReport is the report of this job.
func (r *run) fullReport(status int) *report.Report {
	ready := r.tree.known()
	doc := &report.Report{
		Job: report.Job{
			ID: r.tree.id, Ranks: r.plan.Size, Nodes: len(ready.Live), Degree: r.plan.Degree,
			Bootstrap: r.plan.Bootstrap, Cache: string(r.options.Launch.Cache),
		},
		Begin: r.began, End: time.Now(), Status: status,
		Failures: []report.Failure{}, Dead: []report.DeadHost{},
	}
	for _, a := range r.plan.Apps {
		doc.Job.Apps = append(doc.Job.Apps, report.App{Argv: a.Argv, Ranks: a.N})
	}
	if cause := r.verdict.earliest(); cause != nil {
		f := r.reported(cause)
		doc.Cause = &f
	}
	for i := range r.counted.failures {
		doc.Failures = append(doc.Failures, r.reported(&r.counted.failures[i]))
	}
	for _, d := range ready.Dead {
		doc.Dead = append(doc.Dead, report.DeadHost{Host: r.hostName(d.Index), Phase: d.Phase, Cause: d.Cause})
	}
	doc.Phases = r.phases()
	var c report.Collected
	if r.counted.of != nil {
		c = *r.counted.of
	}
	doc.Fill(c, r.hostName)
	return doc
}

// classNames are what the report calls the classes of failures.
var classNames = map[job.CauseClass]string{
	job.CauseAbort: "abort", job.CauseSignal: "signal", job.CauseExit: "exit", job.CauseNoFinalize: "no finalize",
	job.CauseStart: "start", job.CauseNodeLost: "node lost", job.CauseProtocol: "protocol",
}

func (r *run) reported(f *heard) report.Failure {
	return report.Failure{
		Class: classNames[f.Class], World: f.World, Rank: int(f.Rank), Host: r.hostName(f.Host), PID: f.PID,
		Code: f.Code, Signal: f.Signal, Phase: f.Phase, Text: f.Text, At: f.at,
	}
}
