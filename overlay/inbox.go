package overlay

import (
	"sync"

	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/tree"
)

// Event is something that happened outside the event loop: one of the types of
// this package whose comment says "event", or one of the owner's own.
type Event any

// Message is the event of a whole message received on an edge.
type Message struct {
	From   tree.Slot
	Stream link.Stream
	Header tree.Header
	Body   []byte // owned by the receiver
}

// EdgeEnded is the event of an edge on which nothing more will come: Err is nil
// after an orderly END, and wraps link.ErrLost otherwise. A lost edge may be
// reported more than once.
type EdgeEnded struct {
	From tree.Slot
	Err  error
}

// Inbox is an unbounded queue of events from many goroutines to one event loop.
// What feeds it is bounded by the protocol (credits, one aggregate per child
// and fence); output of ranks never passes through it.
type Inbox struct {
	wake func()

	mu    sync.Mutex
	queue []Event
}

// NewInbox returns an inbox that calls wake, from the putting goroutine,
// whenever it stops being empty.
func NewInbox(wake func()) *Inbox { return &Inbox{wake: wake} }

// Put adds an event. It never blocks.
func (b *Inbox) Put(e Event) {
	b.mu.Lock()
	b.queue = append(b.queue, e)
	first := len(b.queue) == 1
	b.mu.Unlock()
	if first {
		b.wake()
	}
}

// Take moves everything queued into buf[:0] and returns it.
func (b *Inbox) Take(buf []Event) []Event {
	clear(buf[:cap(buf)])
	b.mu.Lock()
	defer b.mu.Unlock()
	buf = append(buf[:0], b.queue...)
	clear(b.queue)
	b.queue = b.queue[:0]
	return buf
}
