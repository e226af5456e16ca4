package agent

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/output"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/tree"
)

// Startup is what a node notes of its own start.
type Startup struct {
	Begun  time.Time   // of its process
	Warden report.Step // the warden's start
	Phases []report.Phase
}

// Node is what a node does for its jobs. Only Post may be called from any goroutine.
type Node interface {
	// Self is this node, Common what all nodes were told at the start.
	Self() *overlay.HostEntry
	Common() *overlay.Common
	// Root reports whether the parent is the launcher.
	Root() bool
	// Address is one at which other nodes reach this one, where a job has no interface
	// of its own. OneMachine reports whether all nodes are on this machine.
	Address() string
	OneMachine() bool

	// Now is the node's clock; Startup, what it has noted of its start.
	Now() time.Time
	Startup() Startup

	// Post has the event loop call f.
	Post(f func())
	// Watch, Change, CloseFD and Forget are as in serve.Node. WatchRoom has h told when fd
	// can be written to.
	Watch(fd int, h serve.Handler) error
	WatchRoom(fd int, h serve.Handler)
	Change(fd int, read, write bool) error
	CloseFD(fd int)
	Forget(fd int)

	// Subtree, Parent and Output are the node's links, and the way of output up.
	Subtree() *overlay.Subtree
	Parent() *overlay.Edge
	Output() *output.Output
	// Up queues a message to the parent, for the launcher; Route, one step toward a host
	// below, if the way is still there; PassOn, toward any host.
	Up(s link.Stream, kind tree.Kind, body []byte)
	Route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte)
	PassOn(h tree.Header, body []byte)
	// Drop decides what becomes of a message that was passed on and is found wrong; Broken
	// cuts off a neighbor that broke the protocol.
	Drop(m overlay.Message, err error) error
	Broken(from tree.Slot, err error)
	// HoldEarly keeps what has come before the world that it is for; TakeEarly returns it.
	HoldEarly(world int, m overlay.Message) error
	TakeEarly(world int) []overlay.Message
	// StartedBelow is told that the ranks below a child run with which the job starts.
	StartedBelow(slot tree.Slot, s overlay.Started)
	// Note tells the user something, if they asked for so much.
	Note(level int, format string, args ...any)

	// Warden is the node's; nil before it is up. WardenLost is told that it did not take a
	// command.
	Warden() Warden
	WardenLost(err error)
	// End is how far the end of the node is. WatchWarden gives the warden its time, as an
	// ending.Watch says; Killed, the children theirs.
	End() *ending.Node
	WatchWarden(x ending.Action)
	Killed(grace time.Duration)

	// Processors is what the host has for ranks; its inside need not be known where numbers
	// are enough.
	Processors(enough bool) (*binding.Host, error)
	// MemFile makes a file in memory, unless there is one of that name, and returns its path.
	MemFile(name string, contents []byte) (path string, err error)
	// ReadHostFiles reads files relative to dir and calls done, once, from another goroutine.
	ReadHostFiles(dir string, names []string, done func([]overlay.HostFile))
	// MoreProcessors has the event loop use more than one; MoreGarbage has less collected.
	MoreProcessors()
	MoreGarbage()
}

// ofJob is the agent as its jobs know it.
type ofJob struct{ a *Agent }

var _ Node = ofJob{}

// Self is this node.
func (x ofJob) Self() *overlay.HostEntry { return &x.a.self }

// Common is what all nodes were told.
func (x ofJob) Common() *overlay.Common { return &x.a.common }

// Root reports whether the parent is the launcher.
func (x ofJob) Root() bool { return x.a.root }

// Address is one at which other nodes reach this one.
func (x ofJob) Address() string { return x.a.address() }

// OneMachine reports whether all nodes are on this machine.
func (x ofJob) OneMachine() bool { return x.a.onOneMachine() }

// Now is the node's clock.
func (x ofJob) Now() time.Time { return x.a.now() }

// Startup is what the node has noted of its start.
func (x ofJob) Startup() Startup { return Startup{x.a.begun, x.a.wardenStep, x.a.phases} }

// Post has the event loop call f.
func (x ofJob) Post(f func()) { x.a.inbox.Put(posted(f)) }

// Watch has h told when fd can be read.
func (x ofJob) Watch(fd int, h serve.Handler) error { return x.a.descriptors.watch(fd, h) }

// WatchRoom has h told when fd can be written to.
func (x ofJob) WatchRoom(fd int, h serve.Handler) { x.a.descriptors.watchRoom(fd, h) }

// Change replaces what a descriptor is watched for.
func (x ofJob) Change(fd int, read, write bool) error {
	return x.a.poller.Modify(fd, uint64(fd), read, write)
}

// CloseFD closes a descriptor that is watched.
func (x ofJob) CloseFD(fd int) { x.a.closeFD(fd) }

// Forget ends the watch of a descriptor.
func (x ofJob) Forget(fd int) { x.a.forgetFD(fd) }

// Subtree is what is below.
func (x ofJob) Subtree() *overlay.Subtree { return x.a.subtree }

// Parent is the link to the parent.
func (x ofJob) Parent() *overlay.Edge { return x.a.parent }

// Output is the way of output up.
func (x ofJob) Output() *output.Output { return x.a.output }

// Up queues a message to the parent.
func (x ofJob) Up(s link.Stream, kind tree.Kind, body []byte) { x.a.up(s, kind, body) }

// Route sends a message one step toward a host below.
func (x ofJob) Route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte) {
	x.a.transit.route(h, s, kind, body)
}

// PassOn sends a message toward any host.
func (x ofJob) PassOn(h tree.Header, body []byte) { x.a.transit.passOn(h, body) }

// Drop decides what becomes of a message that is found wrong.
func (x ofJob) Drop(m overlay.Message, err error) error { return x.a.transit.drop(m, err) }

// Broken cuts a neighbor off.
func (x ofJob) Broken(from tree.Slot, err error) { x.a.broken(from, err) }

// HoldEarly keeps what has come before its world.
func (x ofJob) HoldEarly(world int, m overlay.Message) error { return x.a.transit.early.hold(world, m) }

// TakeEarly returns what has come before a world.
func (x ofJob) TakeEarly(world int) []overlay.Message { return x.a.transit.early.take(world) }

// StartedBelow notes it for the progress of the start.
func (x ofJob) StartedBelow(slot tree.Slot, s overlay.Started) { x.a.progress.started(slot, s) }

// Note tells the user something of this host.
func (x ofJob) Note(level int, format string, args ...any) { x.a.note(level, format, args...) }

// Warden is the node's.
func (x ofJob) Warden() Warden { return x.a.life.warden }

// WardenLost handles the end of the warden.
func (x ofJob) WardenLost(err error) { x.a.life.wardenLost(err) }

// End is how far the end of the node is.
func (x ofJob) End() *ending.Node { return &x.a.life.end }

// WatchWarden gives the warden its time.
func (x ofJob) WatchWarden(w ending.Action) { x.a.life.do([]ending.Action{w}) }

// Killed gives the children their time.
func (x ofJob) Killed(grace time.Duration) { x.a.life.tearDown.Killed(grace) }

// Processors is what the host has for ranks.
func (x ofJob) Processors(enough bool) (*binding.Host, error) { return x.a.machine.host(enough) }

// MemFile makes a file in memory.
func (x ofJob) MemFile(name string, contents []byte) (string, error) {
	return x.a.machine.memFile(name, contents)
}

// ReadHostFiles reads files outside of the event loop.
func (x ofJob) ReadHostFiles(dir string, names []string, done func([]overlay.HostFile)) {
	x.a.machine.hostFiles.start(dir, names, done)
}

// MoreProcessors has the event loop use more than one.
func (x ofJob) MoreProcessors() { x.a.machine.moreProcessors() }

// MoreGarbage has less collected.
func (x ofJob) MoreGarbage() { x.a.machine.moreGarbage() }
