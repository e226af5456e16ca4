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
