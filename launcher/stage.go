package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// staging sends the files of --stage down the tree: once over each of its
// links, as fast as the slowest node takes them.
type staging struct {
	files   *stage.Outgoing
	dir     string // golaunch's own
	stopped atomic.Bool
	sending bool // the launch waits for files that are on their way
}

// filesSent is the event of every file being on its way, or of an obstacle.
type filesSent struct{ err error }

// newStaging opens the files.
func newStaging(o *Options) (*staging, error) {
	files, err := stage.OpenFiles(o.Boot.Stage)
	if err != nil {
		return nil, job.Exit(job.ExitUsage, "--stage: %w", err)
	}
	return &staging{files: files, dir: o.Programs.Dir}, nil
}

// programs returns the file of each app that is its program, to run instead. One that
// is named without a directory, and is not in PATH, is the file of that name. It is nil
// if there are no files.
func (s *staging) programs(apps []job.App) []string {
	if len(s.files.List()) == 0 {
		return nil
	}
	programs := make([]string, len(apps))
	for i, app := range apps {
		place := programPlace(app, s.dir)
		if name := app.Argv[0]; place == "" && app.Path == "" && slices.ContainsFunc(s.files.List(), func(f stage.File) bool { return f.Name == name }) {
			programs[i] = name
			continue
		}
		programs[i] = s.files.Named(place)
	}
	return programs
}

// programPlace returns the path of an app's program on this machine: as its ranks would
// look for it, or, if there is none, as seen from here.
func programPlace(app job.App, here string) string {
	name := app.Argv[0]
	if !strings.Contains(name, "/") {
		found, _ := exec.LookPath(name)
		return found
	}
	if path.IsAbs(name) {
		return name
	}
	there := path.Join(app.Dir, name)
	if _, err := os.Stat(there); err != nil {
		return path.Join(here, name)
	}
	return there
}

// send sends the files of a job to the agents on edges and then posts that they are on their way.
func (s *staging) send(n job.Number, edges []*overlay.Edge, post func(overlay.Event)) {
	to := func(kind tree.Kind) func([]byte) error {
		return func(b []byte) error {
			for _, e := range edges {
				if s.stopped.Load() || e.SendWait(link.Data, tree.Header{Kind: kind, Job: n, To: tree.Everyone, From: tree.Launcher}, b) != nil {
					return stage.ErrStopped // a link that is lost is reported where it is read
				}
			}
			return nil
		}
	}
	if err := s.files.Send(to(overlay.KindFile), to(overlay.KindFileEnd)); !errors.Is(err, stage.ErrStopped) {
		post(filesSent{err})
	}
}

// stop ends sending before its time.
func (s *staging) stop() { s.stopped.Store(true) }

// sendFiles sends the files of --stage, if there are any.
func (r *run) sendFiles() {
	if len(r.staging.files.List()) > 0 {
		r.staging.sending = true
		edges := r.tree.Edges()
		r.tree.Go(func() { r.staging.send(r.number, edges, r.tree.Post) }) // ends with the links
	}
}

// filesSent notes that the files are on their way.
func (r *run) filesSent(e filesSent) {
	r.staging.sending = false
	if e.err != nil {
		r.giveUpFor(fmt.Errorf("--stage: %w", e.err))
		return
	}
	r.account.clock.Mark("files sent")
}
