package agent

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// files passes the job's files on to the children and writes them here, chunk
// by chunk, in the goroutine that reads the data stream. A child, or a disk,
// that is slow holds up that stream and nothing else, so at most a chunk and
// what the links hold is in memory.
type files struct {
	done func(dir string, err error) // told once, from that goroutine

	mu       sync.Mutex
	changed  sync.Cond
	begun    bool
	over     bool // what is still to come is dropped
	children []*overlay.Edge
	list     []stage.File
	dirs     []string // none: nothing is written here

	disk   sync.Mutex // held while something is written
	in     *stage.Incoming
	failed bool
}

func newFiles(done func(dir string, err error)) *files {
	f := &files{done: done}
	f.changed.L = &f.mu
	return f
}

// begin has the files of list passed on to children, and written into one of
// dirs, which may be none. What has come before waits for it.
func (f *files) begin(children []*overlay.Edge, list []stage.File, dirs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun, f.children, f.list, f.dirs = true, children, list, dirs
	f.changed.Broadcast()
}

// abandon drops what is still to come.
func (f *files) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.changed.Broadcast()
}

// wanted waits for begin and reports whether the files are wanted still.
func (f *files) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.begun && !f.over {
		f.changed.Wait()
	}
	return !f.over
}

// take is the sink of the data stream.
func (f *files) take(h tree.Header, body []byte) {
	if !f.wanted() {
		return
	}
	var sends sync.WaitGroup
	for i, child := range f.children {
		if child == nil {
			continue
		}
		sends.Go(func() { // ends when the child takes it, or is lost
			if child.SendWait(link.Data, h, body) != nil {
				f.children[i] = nil // its loss is reported where its streams are read
			}
		})
	}
	f.disk.Lock()
	f.write(h.Kind, body)
	f.disk.Unlock()
	sends.Wait()
}

// write takes a message for this node.
func (f *files) write(kind tree.Kind, body []byte) {
	if len(f.dirs) == 0 || f.failed || !f.wanted() {
		return
	}
	var err error
	if f.in == nil {
		f.in, err = stage.NewIncoming(f.dirs, f.list)
	}
	last := false
	switch {
	case err != nil:
	case kind == overlay.KindFile:
		_, err = f.in.Write(body)
	case kind == overlay.KindFileEnd:
		last, err = f.in.End(body)
	default:
		err = fmt.Errorf("unexpected message of kind %d among files", kind)
	}
	if err != nil {
		f.failed = true
		f.done("", err)
	} else if last {
		f.done(f.in.Dir(), nil)
	}
}

// close removes what the warden has not.
func (f *files) close() {
	f.abandon()
	f.disk.Lock()
	defer f.disk.Unlock()
	if f.in != nil {
		f.in.Close()
	}
	for _, dir := range f.dirs {
		os.RemoveAll(dir)
	}
}

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
	if !a.self.Relay() && !a.killed {
		a.awaiting = true
		a.tracing.files.Begin = a.now()
		dirs = stage.ScratchDirs(overlay.NodeJob(a.self.Index, a.common.JobID))
		if err := a.warden.Scratch(dirs); err != nil {
			return err
		}
	}
	a.files.begin(a.family.Edges(), a.launch.Files, dirs)
	return nil
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
	if none, ok := errors.AsType[*stage.NoPlaceError](e.err); ok && none.NoExec {
		code = job.ExitNotExecutable
	}
	a.noRank(job.Failure{Class: job.CauseStart, Code: code, Phase: "stage files", Text: e.err.Error()})
}

// program is the program of an app: where it was brought to, or what the user
// named.
func (a *Agent) program(w *world, app int) []string {
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
