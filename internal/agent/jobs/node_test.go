package jobs

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/files"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/topology/node"
	"github.com/golaunch/golaunch/tree"
)

// testNode is a node with one job. Its warden is lost with the first command that it does
// not take; then all ranks count as ended.
type testNode struct {
	self       overlay.HostEntry
	common     overlay.Common
	root       bool
	addr       string
	oneMachine bool
	now        func() time.Time
	startup    Startup
	inbox      *overlay.Inbox
	poller     *unix.Poller
	handlers   map[int]serve.Handler
	subtree    *overlay.Subtree
	parent     *overlay.Edge
	watched    int     // how often the warden was given its time
	dropped    []error // messages that were found wrong
	broken     []error
	warden     Warden
	end        ending.Node
	processors *node.Node
	files      map[string][]byte // in memory

	job *Job
}

var _ Node = (*testNode)(nil)

func (n *testNode) Self() *overlay.HostEntry                { return &n.self }
func (n *testNode) Common() *overlay.Common                 { return &n.common }
func (n *testNode) Root() bool                              { return n.root }
func (n *testNode) Address() string                         { return n.addr }
func (n *testNode) OneMachine() bool                        { return n.oneMachine }
func (n *testNode) Now() time.Time                          { return n.now() }
func (n *testNode) Startup() Startup                        { return n.startup }
func (n *testNode) Subtree() *overlay.Subtree               { return n.subtree }
func (n *testNode) Parent() *overlay.Edge                   { return n.parent }
func (n *testNode) Broken(_ tree.Slot, err error)           { n.broken = append(n.broken, err) }
func (n *testNode) StartedBelow(tree.Slot, overlay.Started) {}
func (n *testNode) Warden() Warden                          { return n.warden }
func (n *testNode) End() *ending.Node                       { return &n.end }
func (n *testNode) WatchWarden(ending.Action)               { n.watched++ }
func (n *testNode) Killed(time.Duration)                    {}
func (n *testNode) NeedFiles(int)                           {}
func (n *testNode) MoreProcessors()                         {}
func (n *testNode) MoreGarbage()                            {}

// posted is something to be done in the event loop.
type posted func()

func (n *testNode) Post(f func()) { n.inbox.Put(posted(f)) }

// turn does what was posted.
func (n *testNode) turn() {
	for _, e := range n.inbox.Take(nil) {
		if f, ok := e.(posted); ok {
			f()
		}
	}
}

func (n *testNode) Watch(fd int, h serve.Handler) error {
	if n.handlers == nil {
		n.handlers = map[int]serve.Handler{}
	}
	n.handlers[fd] = h
	return n.poller.Add(fd, uint64(fd))
}

func (n *testNode) WatchRoom(int, serve.Handler) {}

func (n *testNode) Change(fd int, read, write bool) error {
	return n.poller.Modify(fd, uint64(fd), read, write)
}

func (n *testNode) CloseFD(fd int) {
	n.Forget(fd)
	unix.Close(fd)
}

func (n *testNode) Forget(fd int) {
	delete(n.handlers, fd)
	_ = n.poller.Remove(fd)
}

func (n *testNode) Up(s link.Stream, kind tree.Kind, body []byte) {
	n.parent.Send(s, tree.Header{Kind: kind, Job: job.Cold, To: tree.Launcher, From: n.self.Index}, body)
}

func (n *testNode) Route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte) {
	if slot, ok := n.subtree.Route(h); ok {
		n.subtree.Send(slot, s, kind, job.Cold, body)
	}
}

func (n *testNode) PassOn(h tree.Header, body []byte) {
	n.parent.Pass(overlay.Message{Stream: link.KVS, Header: h, Body: body})
}

func (n *testNode) Drop(_ overlay.Message, err error) error {
	if err != nil {
		n.dropped = append(n.dropped, err)
	}
	return err
}

func (n *testNode) Note(level int, format string, args ...any) {
	if level <= n.common.Verbose {
		n.Up(link.Control, overlay.KindNote, overlay.Encode(overlay.Note{Level: level, Host: n.self.Index, Text: fmt.Sprintf(format, args...)}))
	}
}

func (n *testNode) WardenLost(err error) {
	for _, x := range n.end.WardenLost(err, ending.Numbered{Number: job.Cold, Job: n.job.End()}) {
		switch {
		case x.Job != 0:
			n.job.Do([]ending.Action{x})
		case x.Do == ending.Sweep:
			n.job.NodeLost(err)
		}
	}
}

func (n *testNode) Processors(bool) (*binding.Host, error) {
	ours, err := unix.Affinity(0)
	return binding.New(n.processors, ours), err
}

func (n *testNode) MemFile(name string, contents []byte) (string, error) {
	if n.files == nil {
		n.files = map[string][]byte{}
	}
	n.files[name] = contents
	return "/memory/" + name, nil
}

func (n *testNode) ReadHostFiles(string, []string, func([]overlay.HostFile)) {}

// joined has the parts of a node's job know it.
func joined(n *testNode) *testNode {
	if n.job == nil {
		n.job = without(n, job.Cold, &servetree.Door{})
	} else {
		n.job.number = job.Cold
		n.job.serving.door = &servetree.Door{}
		n.job.join(n)
	}
	return n
}

// lostWarden is a warden that has died.
type lostWarden struct{ Warden }

var errGone = fmt.Errorf("%w (pid 7): signal: killed", proc.ErrLost)

func (lostWarden) Signal(job.Number, syscall.Signal) error           { return errGone }
func (lostWarden) SignalWorld(job.Number, int, syscall.Signal) error { return errGone }
func (lostWarden) Kill(job.Number, time.Duration) error              { return errGone }

// willingWarden does as it is told and reports nothing.
type willingWarden struct {
	lostWarden
	launched *[]proc.Spec
}

func (w willingWarden) Launch(_ job.Number, s proc.Spec, _ []proc.Child) error {
	*w.launched = append(*w.launched, s)
	return nil
}
func (willingWarden) Signal(job.Number, syscall.Signal) error           { return nil }
func (willingWarden) SignalWorld(job.Number, int, syscall.Signal) error { return nil }
func (willingWarden) Kill(job.Number, time.Duration) error              { return nil }
func (willingWarden) OpenJob(job.Number) error                          { return nil }
func (willingWarden) Next() ([]proc.Event, error)                       { return nil, io.EOF }
func (willingWarden) Sweep(context.Context, func(pid int) bool) error   { return nil }

// nodeOf returns a node with one rank of a warden, and what it tells its parent over the
// control stream.
func nodeOf(t *testing.T, w Warden) (*testNode, *world, <-chan overlay.Message) {
	t.Helper()
	parent, said := agenttest.Parent(t)
	n := joined(&testNode{parent: parent, subtree: &overlay.Subtree{}, inbox: overlay.NewInbox(func() {}), now: time.Now, job: &Job{launch: &overlay.Launch{}}, warden: w})
	n.end, n.job.end = agenttest.EndOf(0, 1)
	n.job.Ranged()
	n.job.staging.files = files.New(func(string, error) {})
	n.job.output = agenttest.NewOutput(t)
	first := &world{ranks: []*rank{{}}, living: 1, launched: true, mpi: &fakeLibraries{}}
	first.done.Merge = (*overlay.Done).Merge
	first.done.Expect(1)
	n.job.worlds = map[int]*world{0: first}
	return n, first, said
}

// served makes the servers of a world, all of whose ranks are on one node.
func served(t *testing.T, n *testNode, w *world) {
	t.Helper()
	w.spec.Size, w.spec.KVSName, w.nodes, w.spec.Blocks = len(w.ranks), "k", []job.HostIndex{0}, []job.Block{{Count: len(w.ranks)}}
	w.byRank = map[job.Rank]*rank{}
	for _, r := range w.ranks {
		r.world, w.byRank[r.Number] = w, r
	}
	n.root, n.job.launch.Cache, n.job.launch.Universe = true, cache.HCMAB, -1
	require.NoError(t, n.job.serving.makeFor(w))
	for _, s := range w.servers.all {
		require.NoError(t, s.Start())
	}
}

// noPipe is the pipe of a child that has none.
type noPipe struct{}

func (noPipe) Read([]byte) (int, error)    { return 0, io.EOF }
func (noPipe) Write(p []byte) (int, error) { return len(p), nil }
func (noPipe) Close() error                { return nil }
func (noPipe) Diagnostics() string         { return "" }
func (noPipe) PeerAddr() string            { return "" }

// outputOf makes the sink for the output of a child's ranks.
func (n *testNode) outputOf(child tree.Slot) overlay.Sink {
	return func(h tree.Header, body []byte) { n.job.TakeOutput(child, h, body) }
}

// withChildren gives a node children, each with the hosts that it is given, and returns
// the far ends of their links.
func withChildren(t *testing.T, n *testNode, ranges ...[]overlay.HostEntry) (children []link.Link) {
	t.Helper()
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, n.inbox, nil)
	n.subtree = overlay.NewSubtree(starter, overlay.Common{}, n.inbox, n.outputOf)
	n.subtree.Begin(overlay.Ready{}, nil, 1)
	for _, r := range ranges {
		near, far := memlink.Pair()
		n.subtree.Worlds.Call(r...)
		n.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: r[0], Rest: r[1:]})
		children = append(children, far)
	}
	t.Cleanup(func() { n.subtree.Close() })
	return children
}
