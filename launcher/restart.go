package launcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// restarts carries out a job again and again while it fails, as often as
// EndingOptions.Restarts allow (--restarts): each attempt is a job of its own, with as many
// ranks as the first, on hosts that no attempt has lost.
type restarts struct {
	o        Options
	deadline time.Time // of EndingOptions.Timeout; zero for none
	attempt  int
}

// failedAttempt has the remains of an attempt that failed by itself.
type failedAttempt struct {
	plan  *Plan
	apps  []job.App // with their final number of ranks
	lost  []job.Host
	names []string // of those
	rank  job.RankID
	input bool // it has read some of standard input
}

func newRestarts(o Options) *restarts {
	s := &restarts{o: o}
	if o.Ending.Timeout > 0 {
		s.deadline = time.Now().Add(o.Ending.Timeout)
	}
	return s
}

// options returns those of the next attempt.
func (s *restarts) options() (Options, error) {
	o := s.o
	o.Programs.EnvGiven = slices.Clip(o.Programs.EnvGiven)
	if o.Ending.Restarts > 0 {
		o.Programs.EnvGiven = append(o.Programs.EnvGiven, fmt.Sprint("GOLAUNCH_RESTART=", s.attempt),
			fmt.Sprint("TORCHELASTIC_RESTART_COUNT=", s.attempt), fmt.Sprint("TORCHELASTIC_MAX_RESTARTS=", o.Ending.Restarts))
	}
	o.attempt.appendOut = s.attempt > 0
	o.Hosts.AllowDeadNodes = o.Hosts.AllowDeadNodes || s.attempt > 0 // others died with the host that was missed first
	if o.Output.LogDir != "" && !o.Report.DryRun {
		if err := s.makeLogDir(); err != nil {
			return o, fmt.Errorf("--log-dir: %w", err)
		}
		dir := strings.ReplaceAll(s.logDir(), "%", "%%")
		o.Output.OutPattern, o.Output.ErrPattern = filepath.Join(dir, "%r.out"), filepath.Join(dir, "%r.err")
		o.Output.LogDir, o.attempt.outMade = "", 2
	}
	return o, nil
}

// logDir returns the directory for the output of this attempt.
func (s *restarts) logDir() string {
	return filepath.Join(s.o.Output.LogDir, fmt.Sprint(attemptDir, s.attempt))
}

const attemptDir = "attempt-" // and the number

// makeLogDir makes it, in OutputOptions.LogDir, which is made if need be.
func (s *restarts) makeLogDir() error {
	root, err := unix.OpenOutputDir(s.o.Output.LogDir, true)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(filepath.Base(s.logDir()), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// isLog reports whether a name in the directory of an attempt is of a rank's output,
// such as 3.out, or 1.3.err of a spawned world's.
func isLog(name string) bool {
	end := filepath.Ext(name)
	world, rank, spawned := strings.Cut(strings.TrimSuffix(name, end), ".")
	return (end == ".out" || end == ".err") && isNumber(world) && (!spawned || isNumber(rank))
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 31)
	return err == nil
}

// clearLogs removes an earlier job's logs from OutputOptions.LogDir: its attempts and
// ranks would be taken for this one's. Other files stay.
func (s *restarts) clearLogs(report *reporter) error {
	if s.o.Output.LogDir == "" || s.o.Report.DryRun {
		return nil
	}
	root, err := unix.OpenOutputDir(s.o.Output.LogDir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--log-dir: %w", err)
	}
	defer root.Close()
	attempts, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("--log-dir: %w", err)
	}
	removed := 0
	for _, a := range attempts {
		if number, ok := strings.CutPrefix(a.Name(), attemptDir); !ok || !a.IsDir() || !isNumber(number) {
			continue
		}
		logs, err := fs.ReadDir(root.FS(), a.Name())
		if err != nil {
			return fmt.Errorf("--log-dir: %w", err)
		}
		for _, f := range logs {
			if !f.Type().IsRegular() || !isLog(f.Name()) {
				continue
			}
			if err := root.Remove(filepath.Join(a.Name(), f.Name())); err != nil {
				return fmt.Errorf("--log-dir: a file of an earlier job: %w", err)
			}
			removed++
		}
		_ = root.Remove(a.Name()) // unless something else is there
	}
	if removed > 0 {
		report.Note("--log-dir: %s of an earlier job removed from %s", plural(removed, "file"), s.o.Output.LogDir)
	}
	return nil
}

// again prepares the next attempt after one that failed, and reports whether there is
// one.
func (s *restarts) again(ctx context.Context, f *failedAttempt, report *reporter) bool {
	if s.o.Output.LogDir != "" {
		s.tail(f.rank, report)
	}
	if s.attempt == s.o.Ending.Restarts || ctx.Err() != nil {
		return false
	}
	if !s.deadline.IsZero() && time.Until(s.deadline) <= 0 {
		report.Note("no restart: the time of --timeout is over")
		return false
	}
	s.o.attempt.deadline = s.deadline
	s.attempt++
	s.o.Programs.Apps = f.apps
	s.o.Input.Stdin = StdinNone // it is read
	if len(s.o.Hosts.List) > 0 && len(f.lost) > 0 {
		s.o.Hosts.List = f.substituted(s.o.Hosts.List)
		if app := s.leave(f.lost); app >= 0 {
			report.Note("no restart: none of the hosts of %s is left", appName(s.o.Programs.Apps, app))
			return false
		}
	}
	return true
}

// leave has further attempts do without lost hosts. It returns the first app that has none
// then, or -1.
func (s *restarts) leave(lost []job.Host) (app int) {
	s.o.Hosts.List = remaining(s.o.Hosts.List, lost)
	s.o.Hosts.Spares = max(0, s.o.Hosts.Spares-len(lost))
	s.o.Programs.Apps = slices.Clone(s.o.Programs.Apps)
	for i := range s.o.Programs.Apps {
		a := &s.o.Programs.Apps[i]
		own := len(a.Hosts) > 0
		a.Hosts = remaining(a.Hosts, lost)
		if len(a.Hosts) == 0 && (own || len(s.o.Hosts.List) == 0) {
			return i
		}
	}
	return -1
}

// tell says that an attempt by a plan follows one that failed, and names the hosts that
// take the ranks of lost ones.
func (s *restarts) tell(f *failedAttempt, plan *Plan, report *reporter) {
	text := fmt.Sprintf("restart %d of %d", s.attempt, s.o.Ending.Restarts)
	if len(f.names) > 0 && len(s.o.Hosts.List) > 0 {
		text += ", without " + strings.Join(f.names, ", ")
	}
	report.Note("%s", text)
	if f.input {
		report.Note("standard input was read before: the ranks get none of it now")
	}
	if by := f.plan.replaced(plan); by != "" {
		report.Note("%s", by)
	}
}

// substituted returns the hosts with idle ones in the places of lost ones that held
// ranks, as far as there are any: the other ranks keep their places.
func (f *failedAttempt) substituted(hosts []job.Host) []job.Host {
	if f.plan == nil {
		return hosts
	}
	held := f.plan.holders()
	hosts = slices.Clone(hosts)
	gone := func(h job.Host) bool {
		return slices.ContainsFunc(f.lost, func(l job.Host) bool { return l.Name == h.Name })
	}
	for i := range hosts {
		if !gone(hosts[i]) || held[hosts[i].Name] == 0 {
			continue
		}
		j := slices.IndexFunc(hosts, func(h job.Host) bool { return !gone(h) && held[h.Name] == 0 })
		if j < 0 {
			break
		}
		hosts[i], hosts[j] = hosts[j], hosts[i]
		held[hosts[i].Name] = 1
	}
	return hosts
}

// remaining returns the hosts that are not among the lost ones.
func remaining(hosts, lost []job.Host) []job.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h job.Host) bool {
		return slices.ContainsFunc(lost, func(l job.Host) bool { return l.Name == h.Name })
	})
}

// Bounds of a rank's output that is shown again.
const (
	tailLines = 10
	tailBytes = 4 << 10
)

// tail shows a rank's last lines of output.
func (s *restarts) tail(r job.RankID, report *reporter) {
	if r.Rank < 0 {
		return
	}
	for _, end := range []string{".err", ".out"} {
		path := filepath.Join(s.logDir(), r.String()+end)
		text, err := lastLines(path)
		if err == nil && len(text) > 0 {
			report.Note("the end of %s:\n%s", path, text)
			return
		}
	}
}

// lastLines reads the end of a file.
func lastLines(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(size, tailBytes))
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	if n := len(lines); n > tailLines {
		lines = lines[n-tailLines:]
	}
	return bytes.Join(lines, nil), nil
}

// outcome returns the failure of r's attempt, nil if it ended well or was ended.
func (r *run) outcome() *failedAttempt {
	cause := r.verdict.cause()
	if cause == nil || r.decided || cause.Class == job.CauseStart {
		return nil
	}
	f := &failedAttempt{plan: r.plan, apps: r.plan.Apps, rank: job.RankID{World: cause.World, Rank: cause.Rank}, input: r.input.pump.took()}
	for h := range r.heldBy {
		if int(h) >= len(r.plan.Hosts) { // a relay, which is started anew
			continue
		}
		f.lost = append(f.lost, r.plan.Hosts[h])
		f.names = append(f.names, r.hostName(h))
	}
	slices.Sort(f.names)
	return f
}

// checkRestarts refuses options that exclude those of this file.
func (o *Options) checkRestarts() error {
	switch {
	case o.Ending.Restarts < 0:
		return fmt.Errorf("--restarts: %d is negative", o.Ending.Restarts)
	case o.Ending.Restarts > 0 && o.Ending.KeepGoing:
		return fmt.Errorf("--restarts and --keep-going exclude each other: where the others go on, nothing is started again")
	case o.Output.LogDir != "" && (o.Output.OutPattern != "" || o.Output.ErrPattern != ""):
		return fmt.Errorf("--log-dir names the files of output; leave out --out and --err")
	case o.Output.LogDir != "" && o.Output.Fold && !o.teed():
		return fmt.Errorf("--fold shows output that --log-dir takes; leave one out, or add --tee")
	}
	return nil
}
