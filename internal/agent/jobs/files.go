package jobs

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

// staging is the job's files on their way through this node, and where they are.
type staging struct {
	j        *Job
	files    *files.Files
	begun    bool
	awaiting bool     // the ranks wait for the job's files
	scratch  string   // where those are; "" while there are none
	dirs     []string // that the warden removes: where those are, or could have been, and what MPI makes
}

// startIf starts the ranks of every world once there is a launch and a warden,
// and the files that the launch names have come.
func (j *Job) startIf() {
	if j.launch == nil || j.node.Warden() == nil && !j.node.Self().Relay() {
		return
	}
	if err := j.staging.beginAll(); err != nil {
		j.node.WardenLost(err)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(j.worlds)) {
		if !j.staging.awaiting {
			j.ranks.start(j.worlds[id])
		}
	}
}

// beginAll has the job's files passed on, and written wherever there may be
// ranks, now or later.
func (st *staging) beginAll() error {
	if st.begun || len(st.j.launch.Files) == 0 {
		return nil
	}
	st.begun = true
	var dirs []string
	if !st.j.node.Self().Relay() && !st.j.end.Killed() {
		st.awaiting = true
		st.j.accounts.tracing.files.Begin = st.j.node.Now()
		dirs = stage.ScratchDirs(overlay.NodeJob(st.j.node.Self().Index, st.j.node.Common().JobID))
		if err := st.removeLater(dirs); err != nil {
			return err
		}
	}
	var children []files.Child
	for _, e := range st.j.node.Subtree().Edges() {
		children = append(children, e)
	}
	st.files.Begin(children, st.j.launch.Files, dirs)
	return nil
}

// removeLater has the warden remove more directories in the end.
func (st *staging) removeLater(dirs []string) error {
	st.dirs = append(st.dirs, dirs...)
	return st.j.node.Warden().Scratch(st.j.number, st.dirs)
}

// arrived starts the ranks once the files are in dir, or says why none of them can start here.
func (st *staging) arrived(dir string, err error) {
	if !st.awaiting {
		return // the job has been ended meanwhile
	}
	st.awaiting = false
	st.j.accounts.tracing.files.End = st.j.node.Now()
	if st.scratch = dir; err == nil {
		st.j.startIf()
		return
	}
	code := job.ExitLauncher
	if none, ok := errors.AsType[*stage.NoDirError](err); ok && none.NoExec {
		code = job.ExitNotExecutable
	}
	st.j.ranks.failAll(job.Failure{Class: job.CauseStart, Code: code, Phase: "stage files", Text: err.Error()})
}

// programOf is what the ranks of an app run here, but for their environment.
func (st *staging) programOf(w *world, i int) proc.App {
	app := w.spec.Apps[i]
	return proc.App{Argv: st.argvOf(w, i), Dir: st.j.env.dirOf(app), DirGiven: app.DirGiven, Path: app.Path}
}

// argvOf is the command line of an app, whose program is where it was brought to, or what the
// user named.
func (st *staging) argvOf(w *world, app int) []string {
	argv := w.spec.Apps[app].Argv
	if st.scratch == "" || w.spec.Programs[app] == "" {
		return argv
	}
	return slices.Concat([]string{filepath.Join(st.scratch, w.spec.Programs[app])}, argv[1:])
}

// checkPrograms refuses a world whose programs are files that the job does not
// have.
func (w *world) checkPrograms(files []stage.File) error {
	if len(files) == 0 {
		return nil
	}
	if len(w.spec.Programs) != len(w.spec.Apps) {
		return fmt.Errorf("a world has %d programs for %d apps", len(w.spec.Programs), len(w.spec.Apps))
	}
	for _, name := range w.spec.Programs {
		if name != "" && !slices.ContainsFunc(files, func(f stage.File) bool { return f.Name == name }) {
			return fmt.Errorf("a world has a program %.60q that is no file of the job", name)
		}
	}
	return nil
}
