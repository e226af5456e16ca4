package proc

import (
	"errors"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// Limits of one message of events. While ranks are being started, events wait
// for company, so that the agent is not woken for each, but not for long: a rank
// may be speaking PMI already.
const (
	batchEvents = 64  // at most; with texts cut to textMax they fit a packet
	batchFDs    = 48  // a message with as many or more is sent; the fewer stay open, the cheaper each fork
	textMax     = 400 // bytes of a text
	batchDelay  = time.Millisecond
	rightsRetry = time.Millisecond // after ETOOMANYREFS, which ends unannounced
)

// outbox holds the warden's events for the agent. It never waits, and owns the
// descriptors in it.
type outbox struct {
	sock   int
	closed bool // nobody listens: everything is dropped
	events []wireEvent
	fds    []int
	since  time.Time // when the first of events was added
	queue  []outPacket
}

type outPacket struct {
	data []byte
	fds  []int
}

// add queues an event and the descriptors that go with it.
func (o *outbox) add(e wireEvent, fds ...int) {
	if o.closed {
		closeAll(fds)
		return
	}
	if len(e.Text) > textMax {
		e.Text = e.Text[:textMax] + "..."
	}
	if len(o.events) == 0 {
		o.since = time.Now()
	}
	o.events = append(o.events, e)
	o.fds = append(o.fds, fds...)
	if len(o.events) >= batchEvents || len(o.fds) >= batchFDs {
		o.seal()
	}
}

// seal makes a message of the events so far.
func (o *outbox) seal() {
	if len(o.events) == 0 {
		return
	}
	packets, err := encode(msgEvents, wireEvents(&o.events))
	if err != nil || len(packets) != 1 {
		panic("proc: events do not fit a packet") // a bug: their number and texts are bounded
	}
	o.queue = append(o.queue, outPacket{packets[0], o.fds})
	o.events, o.fds = o.events[:0], nil
}

// message queues a message that is no event.
func (o *outbox) message(kind msgKind, fields func(*coder)) error {
	packets, err := encode(kind, fields)
	if err != nil {
		return err
	}
	o.seal()
	for _, p := range packets {
		o.queue = append(o.queue, outPacket{data: p})
	}
	_, err = o.flush(false)
	return err
}

// flush sends as much as the socket takes. Events that have not waited long stay if
// more are coming. It returns when to try again if the socket will not say, and the
// error that means the end of the agent.
func (o *outbox) flush(more bool) (retry time.Duration, err error) {
	if len(o.events) > 0 && (!more || time.Since(o.since) >= batchDelay) {
		o.seal()
	}
	for len(o.queue) > 0 {
		p := o.queue[0]
		switch err := unix.SendRights(o.sock, p.data, p.fds); {
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case errors.Is(err, syscall.ETOOMANYREFS):
			return rightsRetry, nil
		case err != nil:
			return 0, err
		}
		closeAll(p.fds)
		o.queue[0] = outPacket{}
		o.queue = o.queue[1:]
	}
	o.queue = nil
	return 0, nil
}

// clear reports that the agent keeps up, so that more ranks may be started.
func (o *outbox) clear() bool { return len(o.queue) == 0 }

// blocked reports that something could not be sent yet.
func (o *outbox) blocked() bool { return len(o.queue) > 0 }

// holdsFDs reports that sending would free descriptors.
func (o *outbox) holdsFDs() bool { return len(o.fds) > 0 || len(o.queue) > 0 }

// close drops everything.
func (o *outbox) close() {
	o.closed = true
	closeAll(o.fds)
	for _, p := range o.queue {
		closeAll(p.fds)
	}
	o.events, o.fds, o.queue = nil, nil, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
