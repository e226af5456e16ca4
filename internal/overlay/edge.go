package overlay

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// Sink takes messages of one stream in the goroutine that reads it. It may block: so a
// reader that stalls holds up the writers of output, or of files, and nothing else.
type Sink func(h tree.Header, body []byte)

// Edge drives one link: a goroutine per stream reads whole messages into the inbox
// (stdio and data: into their sinks), and one per stream in use sends queued messages.
// All of them end when the link ends or is closed.
type Edge struct {
	slot    tree.Slot
	link    link.Link
	origin  *Origin
	inbox   *Inbox
	room    *room                    // of all streams but Control
	control *room                    // of Control
	held    atomic.Pointer[leftOpen] // the pipe below link; nil if it is none of ours to end

	mu      sync.Mutex
	queues  [link.NumStreams]*sendQueue
	closing bool

	traffic traffic
	dropped atomic.Bool  // nothing more of it is wanted
	asked   atomic.Int64 // Clock of the Ping that is out for this edge's reckoning; 0 for none

	sending [link.NumStreams]sync.Mutex // held for a whole message

	over    sync.Once
	gone    chan struct{} // closed with the end of the edge, which is in the inbox by then
	readers sync.WaitGroup
	writers sync.WaitGroup
}

// NewEdge starts reading l, which it owns from now on. slot names the edge in events,
// origin judges the messages of the other end. A nil data puts messages of that stream
// into the inbox, too.
func NewEdge(l link.Link, slot tree.Slot, origin *Origin, inbox *Inbox, stdio, data Sink) *Edge {
	e := &Edge{slot: slot, link: l, origin: origin, inbox: inbox, gone: make(chan struct{})}
	e.room, e.control = newRoom(roomBytes), newRoom(controlBytes)
	e.readers.Go(func() { e.read(link.Control, nil) })
	e.readers.Go(func() { e.read(link.KVS, nil) })
	e.readers.Go(func() { e.read(link.Data, data) })
	e.readers.Go(func() { e.read(link.Service, nil) })
	e.readers.Go(func() { e.read(link.Stdio, stdio) })
	// Ends with the readers, which end with the link.
	go func() {
		e.readers.Wait()
		e.reportEnd(nil)
	}()
	return e
}

// reportLoss reports that the link is lost, with the state of the host as far as its
// bootstrap can tell.
func (e *Edge) reportLoss(err error) {
	e.over.Do(func() {
		if !e.dropped.Load() {
			err = withState(err, e.held.Load())
		}
		e.inbox.Put(EdgeEnded{From: e.slot, Err: err})
		close(e.gone)
	})
}

// reportEnd reports the end of the edge: a loss is not followed by a good end.
func (e *Edge) reportEnd(err error) {
	e.over.Do(func() {
		e.inbox.Put(EdgeEnded{From: e.slot, Err: err})
		close(e.gone)
	})
}

// read ends at the stream's end or the link's, and ends the link of a peer that breaks
// the protocol. A nil sink stands for the inbox.
func (e *Edge) read(s link.Stream, sink Sink) {
	whole := tree.Assembler{
		Admit:  func(h tree.Header) (int, error) { return e.origin.admit(s, h) },
		Charge: e.origin.charge,
	}
	for {
		frame, err := e.link.Recv(s)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			e.reportLoss(err)
			return
		}
		if e.dropped.Load() {
			return
		}
		e.traffic.received(s, frame)
		h, body, done, err := whole.Add(frame)
		var value any
		if err == nil && done {
			value, err = e.origin.read(h, body)
		}
		switch {
		case errors.Is(err, errJobOver): // dropped
		case err != nil:
			e.reportEnd(BrokeProtocol(err))
			e.link.Close()
			return
		case !done:
		case sink != nil:
			sink(h, body)
		default:
			m := Message{From: e.slot, Stream: s, Header: h, Body: body, At: time.Now(), Value: value, room: e.roomOf(s)}
			m.room.enter(len(body) + messageCost)
			e.inbox.Put(m)
		}
	}
}

// roomOf returns the room in which messages of a stream wait. Those of Control never
// wait for others: a neighbor that takes no messages holds up no kill for the rest.
func (e *Edge) roomOf(s link.Stream) *room {
	if s == link.Control {
		return e.control
	}
	return e.room
}

// Send queues a message on stream s and returns at once. The payload must not
// be changed afterwards; it may be shared between edges. Messages queued after
// End or Close are dropped, as the peer is gone.
func (e *Edge) Send(s link.Stream, h tree.Header, payload []byte) {
	e.send(s, queued{header: h, payload: payload})
}

// Pass queues a message that has come on another edge. It counts there as one that
// waits until it is on its way here.
func (e *Edge) Pass(m Message) {
	if m.room != nil {
		m.room.stay(len(m.Body) + messageCost)
	}
	e.send(m.Stream, queued{m.Header, m.Body, m.room})
}

func (e *Edge) send(s link.Stream, m queued) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		m.release()
		return
	}
	q := e.queues[s]
	if q == nil {
		q = newSendQueue()
		e.queues[s] = q
		e.writers.Go(func() { e.write(s, q) })
	}
	q.put(m)
}

// SendWait queues a message as Send does and waits until it is on its way, so that
// later ones wait for credit. The payload may be changed afterwards. The error means
// that the peer is gone.
func (e *Edge) SendWait(s link.Stream, h tree.Header, payload []byte) error {
	e.Send(s, h, payload)
	e.mu.Lock()
	q := e.queues[s]
	e.mu.Unlock()
	if q == nil || !q.flush() {
		return link.ErrClosed
	}
	return nil
}

// SendNow sends a message on stream s from the calling goroutine, and so waits
// for credit. Messages of several goroutines do not mix.
func (e *Edge) SendNow(s link.Stream, h tree.Header, payload []byte) error {
	_, err := e.fragments(nil, s, h, payload)
	return err
}

// Suspend tells the peer, after everything queued on Control, that this process
// is about to be stopped, or runs again.
func (e *Edge) Suspend(on bool) error {
	e.mu.Lock()
	q := e.queues[link.Control]
	e.mu.Unlock()
	if q != nil {
		q.flush()
	}
	if s, ok := e.link.(link.Suspender); ok {
		return s.Suspend(on)
	}
	return nil
}

// write ends when its queue is closed and empty, or the link fails; later messages are
// dropped, and the readers report the loss.
func (e *Edge) write(s link.Stream, q *sendQueue) {
	var buf []byte
	for {
		batch, ok := q.take()
		if !ok {
			return
		}
		for i, m := range batch {
			var err error
			buf, err = e.fragments(buf, s, m.header, m.payload)
			if err != nil {
				q.close()
				q.markSent()
				q.drop(batch[i:])
				return
			}
			batch[i] = queued{}
			m.release()
		}
		q.markSent()
		if cap(buf) > 64<<10 {
			buf = nil // one large message must not pin its buffer for the job
		}
	}
}

// fragments sends a message in as many frames as it takes; buf is reused.
func (e *Edge) fragments(buf []byte, s link.Stream, h tree.Header, payload []byte) ([]byte, error) {
	e.sending[s].Lock()
	defer e.sending[s].Unlock()
	return tree.Fragments(buf, h, payload, link.MaxFrameOf(s), func(f []byte) error {
		e.traffic.sent(s, f)
		return e.link.Send(s, f)
	})
}

// End sends queued messages, then END, and waits until the peer has it all or ctx is
// done. SendNow must not be under way.
func (e *Edge) End(ctx context.Context) error {
	e.stopSending()
	flushed := make(chan struct{})
	go func() { // ends with the writers: at the latest when the link is closed
		e.writers.Wait()
		close(flushed)
	}()
	select {
	case <-flushed:
		err := e.link.End(ctx)
		if err == nil {
			e.held.Load().bidFarewell()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close tears the edge down; the peer sees a lost link unless both sides have
// ended.
func (e *Edge) Close() {
	e.drop()
	e.link.Close()
}

// drop has nothing more be sent, nor received, before Close, which may have to wait
// until the peer is ended.
func (e *Edge) drop() {
	e.dropped.Store(true)
	e.stopSending()
	e.room.close()
	e.control.close()
}

// hold notes the pipe below the link.
func (e *Edge) hold(p *leftOpen) {
	e.held.Store(p)
	if p != nil {
		p.joined.Store(true)
		tell := e.reportLoss
		p.tell.Store(&tell)
	}
}

func (e *Edge) stopSending() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
	for _, q := range e.queues {
		if q != nil {
			q.close()
		}
	}
}

type queued struct {
	header  tree.Header
	payload []byte
	room    *room // of the edge from which it is passed on; nil for none
}

// release says that it is on its way, or never will be.
func (m *queued) release() {
	if m.room != nil {
		m.room.leave(len(m.payload) + messageCost)
	}
}

// sendQueue holds the messages that one stream has to send.
type sendQueue struct {
	mu      sync.Mutex
	changed sync.Cond
	items   []queued
	busy    bool // the batch that take returned is being sent
	closed  bool
}

func newSendQueue() *sendQueue {
	q := &sendQueue{}
	q.changed.L = &q.mu
	return q
}

func (q *sendQueue) put(m queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		m.release()
		return
	}
	q.items = append(q.items, m)
	q.changed.Broadcast()
}

// drop lets go of messages that will not be sent: these, and queued ones.
func (q *sendQueue) drop(batch []queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range append(batch, q.items...) {
		m.release()
	}
	q.items = nil
}

// take waits for items; ok is false once the queue is closed and empty.
func (q *sendQueue) take() (batch []queued, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.changed.Wait()
	}
	batch, q.items = q.items, nil
	q.busy = len(batch) > 0
	return batch, q.busy
}

// markSent says that the batch of take is on its way, or lost.
func (q *sendQueue) markSent() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	q.changed.Broadcast()
}

// flush waits until everything queued is on its way, or lost. It reports whether
// more can be sent.
func (q *sendQueue) flush() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for (len(q.items) > 0 && !q.closed) || q.busy {
		q.changed.Wait()
	}
	return !q.closed
}

func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
