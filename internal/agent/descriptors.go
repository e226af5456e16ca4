package agent

import (
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/unix"
)

// descriptors are those that the agent's poller watches, each with who is told of it.
// A descriptor's number is its tag.
type descriptors struct {
	poller   *unix.Poller
	handlers map[int]serve.Handler
}

func newDescriptors(p *unix.Poller) descriptors {
	return descriptors{p, map[int]serve.Handler{}}
}

// watch has h told when fd can be read.
func (d *descriptors) watch(fd int, h serve.Handler) error {
	if err := d.poller.Add(fd, uint64(fd)); err != nil {
		return err
	}
	d.handlers[fd] = h
	return nil
}

// watchRoom has h told when fd can be written to; where that cannot be watched, never.
func (d *descriptors) watchRoom(fd int, h serve.Handler) {
	d.handlers[fd] = h
	_ = d.poller.AddWrite(fd, uint64(fd))
}

// ready tells who watches a descriptor; it may have been closed meanwhile.
func (d *descriptors) ready(on unix.Ready, buf []byte) {
	if h := d.handlers[int(on.Tag)]; h != nil {
		h.Ready(on, buf)
	}
}

// closeFD closes a descriptor that is watched.
func (a *Agent) closeFD(fd int) {
	a.forgetFD(fd)
	unix.Close(fd)
}

// forgetFD ends the watch of a descriptor.
func (a *Agent) forgetFD(fd int) {
	delete(a.descriptors.handlers, fd)
	a.poller.Remove(fd)
}

// hold has a rank's standard input, which is watched for room, told to the rank's
// reader.
func (si *stdin) hold(fd int, r *rank) {
	si.j.node.WatchRoom(fd, serve.HandlerFunc(func(on unix.Ready, _ []byte) {
		if on.HangUp { // the rank closed it, or is gone
			si.shut(r)
		} else {
			si.input.Feed(r.Number)
		}
	}))
}

// atDoor is the poller as the door of the tree's service uses it.
type atDoor struct{ j *Job }

// Watch has ready called when fd can be read.
func (d atDoor) Watch(fd int, ready func()) error {
	return d.j.node.Watch(fd, serve.HandlerFunc(func(unix.Ready, []byte) { ready() }))
}

// CloseFD closes it.
func (d atDoor) CloseFD(fd int) { d.j.node.CloseFD(fd) }
