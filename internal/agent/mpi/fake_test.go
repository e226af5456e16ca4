package mpi

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// fakeAgent is an agent whose event loop turns when a test says so.
type fakeAgent struct {
	serve.Node // only what is below
	posted     chan func()
	notes      []string
	learned    int
	living     int
	ending     bool
	oneMachine bool
	helped     []proc.Helper
	help       func(proc.Helper) error // nil to take helpers and say nothing
	files      map[string][]byte
	scratch    []string
	remove     func(dirs []string) error // in the end; nil for nobody
	lost       map[string]error
	failures   []job.Failure
	waiting    []overlay.Waiting // told to the launcher

	poller   *unix.Poller
	handlers map[int]serve.Handler
}

var _ Agent = (*fakeAgent)(nil)

func (a *fakeAgent) Post(f func()) { a.posted <- f }

// turn takes one event.
func (a *fakeAgent) turn() { (<-a.posted)() }

func (a *fakeAgent) Note(level int, format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprint(level)+" "+fmt.Sprintf(format, args...))
}

func (a *fakeAgent) Watch(fd int, h serve.Handler) error {
	a.handlers[fd] = h
	return a.poller.Add(fd, uint64(fd))
}

func (a *fakeAgent) CloseFD(fd int) {
	delete(a.handlers, fd)
	a.poller.Remove(fd)
	unix.Close(fd)
}

func (a *fakeAgent) Learned()                             { a.learned++ }
func (a *fakeAgent) Living() int                          { return a.living }
func (a *fakeAgent) Ending() bool                         { return a.ending }
func (a *fakeAgent) OneMachine() bool                     { return a.oneMachine }
func (a *fakeAgent) LostHelper(library string, why error) { a.lost[library] = why }
func (a *fakeAgent) Fail(r *serve.Rank, f job.Failure) {
	f.Rank = r.Number
	a.failures = append(a.failures, f)
}
func (a *fakeAgent) WithRank(_ int, do func(*World, *serve.Rank)) { do(nil, nil) }

func (a *fakeAgent) MemFile(name string, contents []byte) (string, error) {
	a.files[name] = contents
	return "/memory/" + name, nil
}

func (a *fakeAgent) Scratch(dirs []string) error {
	a.scratch = append(a.scratch, dirs...)
	if a.remove != nil {
		return a.remove(a.scratch)
	}
	return nil
}

func (a *fakeAgent) Help(h proc.Helper) error {
	a.helped = append(a.helped, h)
	if a.help != nil {
		return a.help(h)
	}
	return nil
}

func (a *fakeAgent) Send(_ serve.Neighbor, _ link.Stream, kind tree.Kind, body []byte) {
	if m, err := overlay.Decode[overlay.Waiting](body); err == nil && kind == overlay.KindWaiting {
		a.waiting = append(a.waiting, m)
	}
}

// fakeRanks are the local ranks of a world.
type fakeRanks struct {
	view   *serve.World
	living int
	spoken map[job.Rank]bool
	fences int
	over   string
}

func (x *fakeRanks) Program(app int) proc.App {
	return proc.App{Argv: x.view.Apps[app].Argv, Dir: x.view.Apps[app].Dir}
}
func (x *fakeRanks) Spoke(r *serve.Rank) bool { return x.spoken[r.Number] }
func (x *fakeRanks) Living() int              { return x.living }
func (x *fakeRanks) Fences() int              { return x.fences }
func (x *fakeRanks) FencesOver() string       { return x.over }

// fakePMIx is the PMIx server of a world: it starts a helper, and serves when that runs.
type fakePMIx struct{ helpers *Helpers }

func (p fakePMIx) Join(library string, done func(error)) {
	p.helpers.Start(library, func(_ int, err error) { done(err) })
}
func (p fakePMIx) Environment(*serve.Rank) []string { return []string{"PMIX_RANK=0"} }

// newFake returns the Libraries of a job.
func newFake(t *testing.T) (*fakeAgent, *Libraries) {
	t.Helper()
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(poller.Close)
	a := &fakeAgent{posted: make(chan func(), 100), files: map[string][]byte{}, lost: map[string]error{}, poller: poller, handlers: map[int]serve.Handler{}}
	id := fmt.Sprintf("job%d", os.Getpid())
	return a, New(a, Options{JobID: id, NodeJob: id})
}

// newWorld returns a world of one app, all of whose ranks are on one node and are this process.
func newWorld(t *testing.T, ranks int) (*fakeAgent, *World, *fakeRanks) {
	t.Helper()
	a, l := newFake(t)
	view := &serve.World{Node: a, World: overlay.World{Size: ranks, KVSName: "k", Blocks: []job.Block{{Count: ranks}}}, Launch: &overlay.Launch{}, Hosts: []job.HostIndex{0}}
	view.Apps = []job.App{{Argv: []string{"/bin/app"}}}
	for i := range ranks {
		view.Ranks = append(view.Ranks, &serve.Rank{Number: job.Rank(i), PID: os.Getpid()})
	}
	a.living = ranks
	x := &fakeRanks{view: view, living: ranks, spoken: map[job.Rank]bool{}}
	return a, l.World(view, x, fakePMIx{l.Helpers}), x
}
