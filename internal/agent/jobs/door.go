package jobs

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/unix"
)

// atDoor is the poller as the door of the tree's service uses it.
type atDoor struct{ j *Job }

// Watch has ready called when fd can be read.
func (d atDoor) Watch(fd int, ready func()) error {
	return d.j.node.Watch(fd, serve.HandlerFunc(func(unix.Ready, []byte) { ready() }))
}

// CloseFD closes it.
func (d atDoor) CloseFD(fd int) { d.j.node.CloseFD(fd) }
