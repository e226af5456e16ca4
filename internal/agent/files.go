package agent

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/files"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stage"
)

// filesHere is the event of the job's files being complete in dir, or of what
// is in the way.
type filesHere struct {
	dir string
	err error
}

// startIf starts the ranks of every world once there is a launch and a warden,
// and the files that the launch names have come.
func (a *Agent) startIf() {
	if a.launch == nil || a.warden == nil && !a.self.Relay() {
		return
	}
	if err := a.beginFiles(); err != nil {
		a.wardenLost(err)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(a.worlds)) {
		if !a.awaiting {
			a.startRanks(a.worlds[id])
		}
	}
}

// beginFiles has the job's files passed on, and written wherever there may be
// ranks, now or later.
func (a *Agent) beginFiles() error {
	if a.filesBegun || len(a.launch.Files) == 0 {
		return nil
	}
	a.filesBegun = true
	var dirs []string
	if !a.self.Relay() && !a.end.Killed() {
		a.awaiting = true
		a.tracing.files.Begin = a.now()
		dirs = stage.ScratchDirs(overlay.NodeJob(a.self.Index, a.common.JobID))
		if err := a.addScratch(dirs); err != nil {
			return err
		}
	}
	var children []files.Child
	for _, e := range a.subtree.Edges() {
		children = append(children, e)
	}
	a.files.Begin(children, a.launch.Files, dirs)
	return nil
}

// addScratch has the warden remove more directories in the end.
func (a *Agent) addScratch(dirs []string) error {
	a.scratchDirs = append(a.scratchDirs, dirs...)
	return a.warden.Scratch(job.Cold, a.scratchDirs)
}

// filesHere starts the ranks, or says why none of them can start here.
func (a *Agent) filesHere(e filesHere) {
	if !a.awaiting {
		return // the job has been ended meanwhile
	}
	a.awaiting = false
	a.tracing.files.End = a.now()
	if a.scratch = e.dir; e.err == nil {
		a.startIf()
		return
	}
	code := job.ExitLauncher
	if none, ok := errors.AsType[*stage.NoDirError](e.err); ok && none.NoExec {
		code = job.ExitNotExecutable
	}
	a.noRank(job.Failure{Class: job.CauseStart, Code: code, Phase: "stage files", Text: e.err.Error()})
}

// programOf is what the ranks of an app run here, but for their environment.
func (a *Agent) programOf(w *world, i int) proc.App {
	app := w.Apps[i]
	return proc.App{Argv: a.argvOf(w, i), Dir: a.dirOf(app), DirGiven: app.DirGiven, Path: app.Path}
}

// argvOf is the command line of an app, whose program is where it was brought to, or what the
// user named.
func (a *Agent) argvOf(w *world, app int) []string {
	argv := w.Apps[app].Argv
	if a.scratch == "" || w.Programs[app] == "" {
		return argv
	}
	return slices.Concat([]string{filepath.Join(a.scratch, w.Programs[app])}, argv[1:])
}

// checkPrograms refuses a world whose programs are files that the job does not
// have.
func (w *world) checkPrograms(files []stage.File) error {
	if len(files) == 0 {
		return nil
	}
	if len(w.Programs) != len(w.Apps) {
		return fmt.Errorf("a world has %d programs for %d apps", len(w.Programs), len(w.Apps))
	}
	for _, name := range w.Programs {
		if name != "" && !slices.ContainsFunc(files, func(f stage.File) bool { return f.Name == name }) {
			return fmt.Errorf("a world has a program %.60q that is no file of the job", name)
		}
	}
	return nil
}
