package servepmix

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/unix"
)

// helper is one helper process of this node.
type helper struct {
	local   *Local
	library string // the key that Helpers has for it
	fd      int    // -1 before its start, and when it is over
	in, out []byte
	ready   bool
	opening []func(error) // who waits for it to be ready
	dead    error         // why it is over
	known   bool          // why is known, and was told

	requests map[uint32]func(pmix.Frame) // ours; a nil Body says that none will come
	last     uint32
	asks     int             // requests of its that are not answered
	knows    map[string]bool // namespaces without ranks of its that it was told of
	silence  silence
}

// Bounds of one helper.
const (
	mostRequests = 1 << 20           // of its that are not answered
	mostQueued   = 2 * pmix.MaxFrame // bytes that it has not taken
)

// started takes its socket.
func (h *helper) started(fd int, err error) {
	if h.dead != nil {
		if err == nil {
			unix.Close(fd)
		}
		return
	}
	if err == nil {
		h.fd = fd
		err = h.local.agent.Watch(fd, h)
	}
	var dir string
	if err == nil {
		dir, err = h.local.helpers.Dir("")
	}
	if err != nil {
		h.end(err)
		return
	}
	h.ask(pmix.Init{
		Version: pmix.Version, Namespace: h.local.namespace, Node: uint32(h.local.host), Host: h.local.name, Dir: dir,
	}, func(f pmix.Frame) {
		r, ok := f.Body.(pmix.Ready)
		if !ok {
			return // it is over, and opening is told so
		}
		h.ready = true
		h.spoke()
		h.local.agent.Note(2, "the PMIx helper runs with %s (%s)", r.Library, r.Version)
		for _, then := range h.opening {
			then(nil)
		}
		h.opening = nil
	})
	h.silence.asked = true
	h.lookLater()
}

// whenReady calls then when the helper is ready, or over.
func (h *helper) whenReady(then func(error)) {
	if h.known || h.ready && h.dead == nil {
		then(h.dead)
		return
	}
	h.opening = append(h.opening, then)
}

// ask makes a request of the helper.
func (h *helper) ask(body any, answer func(pmix.Frame)) {
	if h.known {
		answer(pmix.Frame{})
		return
	}
	h.last++
	h.requests[h.last] = answer
	h.send(h.last, body)
}

// say tells it something.
func (h *helper) say(body any) { h.send(0, body) }

// reply answers a request of its.
func (h *helper) reply(request uint32, body any) {
	h.asks--
	h.send(request, body)
}

// send queues a frame.
func (h *helper) send(request uint32, body any) {
	if h.fd < 0 {
		return
	}
	waiting := len(h.out) > 0
	var gone bool
	h.out, _, gone = serve.Send(h.fd, h.out, pmix.Append(nil, request, body))
	switch {
	case gone:
		h.hungUp()
	case len(h.out) > mostQueued:
		h.end(fmt.Errorf("it does not take what it is told: %d bytes wait", len(h.out)))
	case !waiting && len(h.out) > 0:
		_ = h.local.agent.Change(h.fd, true, true)
	}
}

// Ready serves its socket.
func (h *helper) Ready(on unix.Ready, buf []byte) {
	if on.Writable && h.fd >= 0 && len(h.out) > 0 {
		var gone bool
		if h.out, _, gone = serve.Send(h.fd, h.out, nil); gone {
			h.hungUp()
		} else if len(h.out) == 0 {
			_ = h.local.agent.Change(h.fd, true, false)
		}
	}
	if on.Readable || on.HangUp {
		h.read(buf)
	}
}

// hear takes what it has said by now.
func (h *helper) hear() {
	if h.fd >= 0 {
		buf := make([]byte, 64<<10)
		serve.ByNow(h.fd, len(buf), func() bool { return h.read(buf) })
	}
}

// read takes what it has said, and reports whether there may be more.
func (h *helper) read(buf []byte) (more bool) {
	if h.fd < 0 {
		return false
	}
	n, err := unix.TryRecv(h.fd, buf)
	switch {
	case err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		h.hungUp()
		return false
	}
	h.in = append(h.in, buf[:n]...)
	for h.fd >= 0 {
		f, size, err := pmix.Next(h.in)
		if err == nil && size > 0 {
			if h.in = h.in[size:]; len(h.in) == 0 {
				h.in = nil // what was taken is in use
			}
			err = h.take(f)
		} else if size == 0 && err == nil {
			break
		}
		if err != nil {
			h.end(fmt.Errorf("it broke the protocol: %w", err))
		}
	}
	return n == len(buf)
}

// take takes one frame.
func (h *helper) take(f pmix.Frame) error {
	switch f.Kind {
	case pmix.KindReady, pmix.KindRegistered, pmix.KindTold, pmix.KindPong:
		then := h.requests[f.Request]
		if then == nil {
			return fmt.Errorf("an answer to request %d, which was not made", f.Request)
		}
		delete(h.requests, f.Request)
		then(f)
		return nil
	}
	if f.Request != 0 {
		if h.asks++; h.asks > mostRequests {
			return fmt.Errorf("%d requests at once", h.asks)
		}
	}
	return h.local.request(h, f)
}

// hungUp is the end of its socket. Why it has ended is about to be known.
func (h *helper) hungUp() {
	h.close()
	if h.dead == nil {
		h.dead = errHungUp
		h.local.doubt(h)
		h.local.agent.After(explainAfter, func() { h.local.explain(h) })
	}
}

// end gives it up.
func (h *helper) end(why error) {
	h.close()
	if !h.known {
		h.dead = why
		h.local.doubt(h)
		h.local.explain(h)
	}
}

// close closes its socket.
func (h *helper) close() {
	if h.fd >= 0 {
		h.local.agent.CloseFD(h.fd)
		h.fd = -1
	}
	h.in, h.out = nil, nil
}
