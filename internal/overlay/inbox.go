package overlay

import (
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// Event is something that happened outside the event loop: one of the types of
// this package whose comment says "event", or one of the owner's own.
type Event any

// Message is the event of a whole message received on an edge, to which its Origin
// has the right.
type Message struct {
	From   tree.Slot
	Stream link.Stream
	Header tree.Header
	Body   []byte    // owned by the receiver
	At     time.Time // of its arrival
	Value  any       // body decoded, where it was judged: see As

	room *room // that it takes until the event loop has it, and while it is passed on
}

// room bounds the messages of one edge that wait for the event loop, or to be passed
// on: a neighbor that sends faster than that is done waits, in its own stream.
type room struct {
	most int // bytes

	mu      sync.Mutex
	changed sync.Cond
	bytes   int
	closed  bool
}

const (
	roomBytes    = 64 << 20
	controlBytes = 16 << 20 // of Control
	messageCost  = 256      // of a message beside its body
)

func newRoom(most int) *room {
	r := &room{most: most}
	r.changed.L = &r.mu
	return r
}

// enter waits for room; a message larger than all has it when no other waits.
func (r *room) enter(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.bytes > 0 && r.bytes+bytes > r.most && !r.closed {
		r.changed.Wait()
	}
	r.bytes += bytes
}

// stay keeps room for a message that has left, without a wait.
func (r *room) stay(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += bytes
}

func (r *room) leave(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes -= bytes
	r.changed.Broadcast()
}

// close lets everything in, as nobody takes messages any more.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.changed.Broadcast()
}

// Residence returns the time that the message has been here.
func (m *Message) Residence() time.Duration { return time.Since(m.At) }

// EdgeEnded is the event of an edge on which nothing more will come: Err is nil
// after an orderly END, and wraps link.ErrLost otherwise. There is one for each edge.
type EdgeEnded struct {
	From tree.Slot
	Err  error
}

// Inbox is an unbounded queue of events from many goroutines to one event loop. Its
// senders are bounded by the protocol (credits, one aggregate per child and fence), and
// each edge by its rooms; output of ranks never passes through it.
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

// Take moves everything queued into buf[:0] and returns it. The events that buf held
// are let go of.
func (b *Inbox) Take(buf []Event) []Event {
	clear(buf) // not all of its capacity, which one burst of events has made
	b.mu.Lock()
	defer b.mu.Unlock()
	buf = append(buf[:0], b.queue...)
	for _, e := range buf {
		if m, ok := e.(Message); ok && m.room != nil {
			m.room.leave(len(m.Body) + messageCost)
		}
	}
	clear(b.queue)
	b.queue = b.queue[:0]
	return buf
}
