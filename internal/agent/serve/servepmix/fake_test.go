package servepmix

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
)

// net is the nodes of one world whose ranks speak PMIx, each with a helper that the
// test plays.
type net struct {
	*servetest.Net
	t     *testing.T
	nodes []*node
	root  *Root
	calls []overlay.PMIxCall
}

// node is one of them as its Local sees it.
type node struct {
	*servetest.Node
	net     *net
	host    job.HostIndex
	local   *Local
	server  *Server
	fakes   map[string]*fake
	library func(app int) string
	timers  []timer
	queue   []func()
	shown   []string
	spawns  []spawn

	connected map[job.RankID]int // whose connections to the helper are
	unknown   int
	looked    int // how often it was asked

	later bool // ranks of an app without a library may have one later
	dying bool // the helper is about to end, and its socket does not show it
}

type spawn struct {
	by   job.RankID
	call uint32
	what *pmi.Spawn
}

type timer struct {
	after time.Duration
	f     func()
}

// fake is a helper's end of its socket.
type fake struct {
	t   *testing.T
	net *net
	fd  int
	in  []byte
}

func newNet(t *testing.T, perNode ...int) *net {
	n := &net{Net: servetest.New(t, 0, nil, perNode...), t: t}
	n.root = NewRoot(n)
	names := ""
	for h, count := range perNode {
		if count > 0 {
			names += fmt.Sprintf(",n%d", h)
		}
	}
	for h, x := range n.Nodes {
		x.World.Names, x.World.Apps = names[1:], []job.App{{Argv: []string{"app"}, N: x.Size, Dir: "/here"}}
		y := &node{Node: x, net: n, host: job.HostIndex(h), fakes: map[string]*fake{}, library: func(int) string { return "libpmix.so.2" }}
		y.local = NewLocal(Node{Host: y.host, Name: x.HostName(), Job: "job"}, y, y)
		y.server = New(x.World, y.local)
		x.Servers = []serve.Server{y.server, after{x: y}}
		n.nodes = append(n.nodes, y)
	}
	return n
}

// after carries out what a node's Local has queued.
type after struct {
	serve.Idle
	x *node
}

func (a after) Turn() (some bool) {
	for len(a.x.queue) > 0 {
		f := a.x.queue[0]
		a.x.queue, some = a.x.queue[1:], true
		f()
	}
	return some
}

func (x *node) After(d time.Duration, f func()) { x.timers = append(x.timers, timer{d, f}) }

// elapse has the timers of a node end.
func (x *node) elapse() {
	timers := x.timers
	x.timers = nil
	for _, t := range timers {
		t.f()
	}
}

func (x *node) ToRoot(c overlay.PMIxCall) {
	x.net.calls = append(x.net.calls, c)
	x.queue = append(x.queue, func() { require.NoError(x.net.t, x.net.root.Called(c)) })
}

// World finds one that some node has.
func (n *net) World(namespace string) *overlay.World {
	for _, x := range n.nodes {
		if s := x.local.servers[namespace]; s != nil {
			return &s.w.World
		}
	}
	return nil
}

func (n *net) Taken(string) bool               { return false }
func (n *net) After(d time.Duration, f func()) { n.nodes[0].After(d, f) }

func (n *net) Answer(a overlay.PMIxAnswer) {
	if len(a.To) == 0 {
		for _, x := range n.nodes {
			x.queue = append(x.queue, func() { require.NoError(n.t, x.local.Answered(0, a)) })
		}
	}
	for _, c := range a.To {
		x := n.nodes[c.Host]
		x.queue = append(x.queue, func() { require.NoError(n.t, x.local.Answered(c.Number, a)) })
	}
}

// also has some nodes hold ranks of another world, too, which has no tree here.
func (n *net) also(world int, name string, perNode ...int) {
	other := servetest.New(n.t, world, nil, perNode...)
	for h, x := range other.Nodes {
		x.World.KVSName, x.World.Names, x.World.Apps = name, "", []job.App{{Argv: []string{name}, N: x.Size}}
		for _, at := range x.Hosts {
			x.World.Names += fmt.Sprintf(",n%d", at)
		}
		x.World.Names = x.World.Names[1:]
		if len(x.Ranks) > 0 {
			s := New(x.World, n.nodes[h].local)
			s.Open(func(err error) { require.NoError(n.t, err) })
			id, w := hear[pmix.World](n.nodes[h].fake())
			n.nodes[h].fake().say(id, pmix.Registered{Envs: make([][]string, len(w.Locals))})
			n.Run(func() bool { return s.opened })
		}
	}
}

func (x *node) Waiting() {}

func (x *node) Connected(pid int) (of map[job.RankID]int, others int, err error) {
	require.Equal(x.net.t, x.PID(""), pid)
	x.looked++
	return x.connected, x.unknown, nil
}

func (x *node) Say(r job.RankID, stderr bool, text string) {
	x.shown = append(x.shown, fmt.Sprintf("%v %v %s", r, stderr, text))
}

func (x *node) Spawn(by job.RankID, call uint32, s *pmi.Spawn) {
	x.spawns = append(x.spawns, spawn{by, call, s})
}

func (x *node) ToNode(to job.HostIndex, m overlay.PMIxModex) {
	x.queue = append(x.queue, func() { require.NoError(x.net.t, x.net.nodes[to].local.Asked(x.host, m)) })
}

func (x *node) Library(_, app int) string { return x.library(app) }
func (x *node) Later(_, app int) bool     { return x.later && x.library(app) == "" }

func (x *node) Dir(namespace string) (string, error) { return "/dir/" + namespace, nil }
func (x *node) Forget(string)                        {}
func (x *node) Alive(string) bool                    { return !x.dying }
func (x *node) PID(string) int                       { return 77 }

func (x *node) Start(library string, done func(int, error)) {
	mine, its, err := unix.StreamPair()
	require.NoError(x.net.t, err)
	require.NoError(x.net.t, unix.SetNonblock(mine))
	require.NoError(x.net.t, unix.SetNonblock(its))
	f := &fake{t: x.net.t, net: x.net, fd: its}
	x.fakes[library] = f
	x.net.t.Cleanup(func() { f.hangUp() })
	x.queue = append(x.queue, func() { done(mine, nil) })
}

func (f *fake) hangUp() {
	if f.fd >= 0 {
		syscall.Close(f.fd)
		f.fd = -1
	}
}

// say has the helper say something.
func (f *fake) say(request uint32, body any) {
	b := pmix.Append(nil, request, body)
	for len(b) > 0 {
		n, err := unix.TrySend(f.fd, b)
		if err == unix.EAGAIN {
			f.net.Settle()
			continue
		}
		require.NoError(f.t, err)
		b = b[n:]
	}
}

// next is what the helper is told next, if there is anything.
func (f *fake) next() (x pmix.Frame, ok bool) {
	buf := make([]byte, 64<<10)
	for {
		x, n, err := pmix.Next(f.in)
		require.NoError(f.t, err)
		if n > 0 {
			f.in = append([]byte(nil), f.in[n:]...)
			return x, true
		}
		got, err := unix.TryRecv(f.fd, buf)
		if err != nil {
			return x, false
		}
		f.in = append(f.in, buf[:got]...)
	}
}

// hear waits for what the helper is told next, which is a T.
func hear[T any](f *fake) (uint32, T) {
	f.t.Helper()
	var x pmix.Frame
	f.net.Run(func() (ok bool) { x, ok = f.next(); return ok })
	body, ok := x.Body.(T)
	require.True(f.t, ok, "%T", x.Body)
	return x.Request, body
}

// begin has all helpers be ready and know the world.
func (n *net) begin() {
	n.t.Helper()
	n.Start()
	n.Settle()
	for _, x := range n.nodes {
		for _, f := range x.fakes {
			id, init := hear[pmix.Init](f)
			require.Equal(n.t, pmix.Init{Version: pmix.Version, Namespace: "golaunch-job", Node: uint32(x.host), Host: x.HostName(), Dir: "/dir/"}, init)
			f.say(id, pmix.Ready{Library: "libpmix.so.2", Version: "5"})
			id, w := hear[pmix.World](f)
			r := pmix.Registered{}
			for _, l := range w.Locals {
				r.Envs = append(r.Envs, []string{fmt.Sprintf("PMIX_RANK=%d", l.Rank)})
			}
			f.say(id, r)
		}
	}
	n.Settle()
}

func (x *node) fake() *fake { return x.fakes["libpmix.so.2"] }
