package mpi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmix"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// Helpers are the PMIx servers of this node: one for each libpmix in use.
type Helpers struct {
	l       *Libraries
	plans   map[string]helperPlan // by library, of programs that run here: the first one's
	running map[int]*helper       // by number, those that were not reaped
	last    int                   // number
	dir     string                // of all that they, and their clients, make; "" while there is none
}

// helper is one of them.
type helper struct {
	library string
	pid     int // 0 until it runs
	done    func(fd int, err error)
	output  int    // -1 while it is not open
	said    []byte // the last of what it printed
}

// mostSaid bounds what is kept of a helper's words, in bytes.
const mostSaid = 2 << 10

var _ servepmix.Helpers = (*Helpers)(nil)

func newHelpers(l *Libraries) *Helpers {
	return &Helpers{l: l, plans: map[string]helperPlan{}, running: map[int]*helper{}}
}

// Library says which libpmix the local ranks of an app use: a key, equal for equal
// helpers, or "" where they do not speak PMIx. It is known when servers open.
func (p *Helpers) Library(world, app int) string {
	w := p.l.worlds[world]
	if w == nil || !w.libraries[app].speaks() {
		return ""
	}
	plan := w.libraries[app].pmix.plan
	p.plan(plan)
	return plan.library
}

// Later reports an app whose local ranks may speak PMIx, though their program's file does
// not show it.
func (p *Helpers) Later(world, app int) bool {
	w := p.l.worlds[world]
	return w != nil && w.libraries[app].asks()
}

// plan notes how the helper of a library is run, if nothing is known of it.
func (p *Helpers) plan(plan helperPlan) {
	if _, known := p.plans[plan.library]; !known {
		p.plans[plan.library] = plan
	}
}

// filesPerRank and moreFiles are how many a helper may have open: a connection of each
// rank, what it maps, its own, and those of ranks that are spawned later.
const (
	filesPerRank = 4
	moreFiles    = 16 << 10
)

// Start starts the helper of a library. Done is called later, with the agent's end of
// the socket to it, or an error.
func (p *Helpers) Start(library string, done func(fd int, err error)) {
	plan, known := p.plans[library]
	if !known {
		p.l.agent.Post(func() { done(-1, fmt.Errorf("no program here uses %s", library)) })
		return
	}
	p.last++
	n := p.last
	p.running[n] = &helper{library: library, done: done, output: -1}
	files := uint64(moreFiles + filesPerRank*p.l.agent.Living())
	if err := p.l.agent.Help(proc.Helper{Number: n, Argv: plan.argv, Env: plan.env, Files: files}); err != nil {
		delete(p.running, n)
		p.l.agent.Post(func() { done(-1, err) })
	}
}

// Started hands the socket over, and hears what the helper prints.
func (p *Helpers) Started(e proc.HelperStarted) {
	h := p.running[e.Number]
	h.pid, h.output = e.PID, e.Output
	err := p.l.agent.Watch(e.Output, serve.HandlerFunc(func(_ unix.Ready, buf []byte) { p.hear(h, buf) }))
	if err != nil { // it goes on, and nobody hears why it ends
		unix.Close(e.Output)
		h.output = -1
	}
	h.done(e.Socket, nil)
}

// hear takes some of what a helper prints, and reports whether there may be more.
func (p *Helpers) hear(h *helper, buf []byte) (more bool) {
	if h.output < 0 {
		return false
	}
	n, err := unix.Read(h.output, buf)
	h.said = append(h.said, buf[:n]...)
	if cut := len(h.said) - mostSaid; cut > 0 {
		h.said = slices.Delete(h.said, 0, cut)
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, unix.EAGAIN):
		return false
	}
	p.l.agent.CloseFD(h.output)
	h.output = -1
	return false
}

// Ended says why a helper did not start, or has ended.
func (p *Helpers) Ended(e proc.HelperEnded) {
	h := p.running[e.Number]
	delete(p.running, e.Number)
	if h.pid == 0 {
		h.done(-1, fmt.Errorf("it did not start: %s", e.Text))
		return
	}
	for buf := make([]byte, mostSaid); p.hear(h, buf); {
	}
	p.drop(h)
	var why error
	if !e.Provoked { // else no rank is left here, and a later world has it started again
		why = errors.New(h.epitaph(e))
	}
	p.l.agent.LostHelper(h.library, why)
}

// drop lets go of a helper's output, which a process that it left behind may hold open.
func (p *Helpers) drop(h *helper) {
	if h.output >= 0 {
		p.l.agent.CloseFD(h.output)
		h.output = -1
	}
}

// epitaph says how a helper has ended, with its last words.
func (h *helper) epitaph(e proc.HelperEnded) string {
	text := fmt.Sprintf("pid %d ", e.PID)
	if e.Status.Signaled() {
		text += fmt.Sprintf("was killed by signal %d", e.Status.Signal())
	} else {
		text += fmt.Sprintf("exited with code %d", e.Status.ExitStatus())
	}
	if e.Text != "" {
		text += " (" + e.Text + ")"
	}
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(h.said), "?")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	const most = 4
	if lines = lines[max(0, len(lines)-most):]; len(lines) > 0 {
		text += ": " + strings.Join(lines, "; ")
	}
	return text
}

// Alive tells whether the helper of a library is no process that is about to end: one
// that ends has no memory any more, and so no command line, before its sockets close.
func (p *Helpers) Alive(library string) bool {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID(library)))
	return err == nil && len(words) > 0
}

// PID is the process of the helper of a library, 0 if none runs.
func (p *Helpers) PID(library string) int {
	for _, h := range p.running {
		if h.library == library && h.pid > 0 {
			return h.pid
		}
	}
	return 0
}

// Dir is a private directory of this node for a world's namespace; for "" the one in
// which they all are, for the helpers themselves. It is there, and goes with the job.
func (p *Helpers) Dir(namespace string) (string, error) {
	if namespace != "" && !isName(namespace) {
		return "", fmt.Errorf("namespace %.60q cannot name a directory", namespace)
	}
	if p.dir == "" {
		dir, err := p.l.makeShared()
		if err != nil {
			return "", err
		}
		p.dir = dir
	}
	if namespace == "" {
		return p.dir, nil
	}
	dir := filepath.Join(p.dir, namespace)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// sharedEnd is how the directory's name ends that a world's ranks of Open MPI share.
const sharedEnd = ".shared"

// Forget removes what was made for a namespace, which is not made again. A file system may
// be slow: nobody waits for it. What cannot be removed goes with the job.
func (p *Helpers) Forget(namespace string) {
	if p.dir == "" || !isName(namespace) {
		return
	}
	dir := p.dir
	go func() { // ends with the removal
		for _, name := range []string{namespace, namespace + sharedEnd} {
			_ = unix.RemoveTree(filepath.Join(dir, name))
		}
	}()
}

// isName reports whether a namespace can name a directory.
func isName(namespace string) bool {
	return namespace != "" && namespace != "." && namespace != ".." && !strings.ContainsAny(namespace, "/\x00")
}

// close lets go of what is still open. All ranks have ended.
func (p *Helpers) close() {
	for _, h := range p.running {
		p.drop(h)
	}
}
