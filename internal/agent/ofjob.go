package agent

import (
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/jobs"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/tree"
)

// ofJob is the agent as one of its jobs knows it.
type ofJob struct {
	a      *Agent
	number job.Number
}

var _ jobs.Node = ofJob{}

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
func (x ofJob) Startup() jobs.Startup {
	return jobs.Startup{Begun: x.a.begun, Warden: x.a.wardenStep, Phases: x.a.phases}
}

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

// Up queues a message to the parent.
func (x ofJob) Up(s link.Stream, kind tree.Kind, body []byte) { x.a.up(s, kind, x.number, body) }

// Route sends a message one step toward a host below.
func (x ofJob) Route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte) {
	x.a.transit.route(h, s, kind, x.number, body)
}

// PassOn sends a message toward any host.
func (x ofJob) PassOn(h tree.Header, body []byte) { x.a.transit.passOn(h, body) }

// Drop decides what becomes of a message that is found wrong.
func (x ofJob) Drop(m overlay.Message, err error) error { return x.a.transit.drop(m, err) }

// Broken cuts a neighbor off.
func (x ofJob) Broken(from tree.Slot, err error) { x.a.broken(from, err) }

// StartedBelow notes it for the progress of the start.
func (x ofJob) StartedBelow(slot tree.Slot, s overlay.Started) { x.a.progress.started(slot, s) }

// Note tells the user something of this host.
func (x ofJob) Note(level int, format string, args ...any) {
	x.a.noteOf(x.number, x.a.self.Index, level, format, args...)
}

// Warden is the node's.
func (x ofJob) Warden() jobs.Warden { return x.a.life.warden }

// WardenLost handles the end of the warden.
func (x ofJob) WardenLost(err error) { x.a.life.wardenLost(err) }

// End is how far the end of the node is.
func (x ofJob) End() *ending.Node { return &x.a.life.end }

// WatchWarden gives the warden its time.
func (x ofJob) WatchWarden(w ending.Action) { x.a.life.watch(x.number, w) }

// Killed gives the children their time.
func (x ofJob) Killed(grace time.Duration) { x.a.life.tearDown.kill(x.number, grace) }

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

// NeedFiles has the node be able to have so many files open for the job.
func (x ofJob) NeedFiles(n int) { x.a.machine.needFiles(x.number, n) }

// MoreProcessors has the event loop use more than one.
func (x ofJob) MoreProcessors() { x.a.machine.moreProcessors() }

// MoreGarbage has less collected.
func (x ofJob) MoreGarbage() { x.a.machine.moreGarbage() }
