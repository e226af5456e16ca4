package jobs

import (
	"context"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
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

	// Subtree and Parent are the node's links.
	Subtree() *overlay.Subtree
	Parent() *overlay.Edge
	// Up queues a message to the parent, for the launcher; Route, one step toward a host
	// below, if the way is still there; PassOn, toward any host.
	Up(s link.Stream, kind tree.Kind, body []byte)
	Route(h job.HostIndex, s link.Stream, kind tree.Kind, body []byte)
	PassOn(h tree.Header, body []byte)
	// Drop decides what becomes of a message that was passed on and is found wrong; Broken
	// cuts off a neighbor that broke the protocol.
	Drop(m overlay.Message, err error) error
	Broken(from tree.Slot, err error)
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
	// NeedFiles has the node be able to have so many files open for the job, if it can.
	NeedFiles(n int)
	// MoreProcessors has the event loop use more than one; MoreGarbage has less collected.
	MoreProcessors()
	MoreGarbage()
}

// Warden starts and ends the ranks of a node: a *proc.Warden, whose methods tell
// what is expected, or what stands in for one.
type Warden interface {
	Next() ([]proc.Event, error)
	OpenJob(job.Number) error
	CloseJob(job.Number) error
	Launch(job.Number, proc.Spec, []proc.Child) error
	Help(job.Number, proc.Helper) error
	Signal(job.Number, syscall.Signal) error
	SignalWorld(n job.Number, world int, sig syscall.Signal) error
	Kill(n job.Number, grace time.Duration) error
	Scratch(n job.Number, dirs []string) error
	Beat() error
	BeatEvery() time.Duration
	Finish() error
	Sweep(ctx context.Context, keep func(pid int) bool) error
	Destroy()
	Close()
}
