// Package memlink is a link.Link inside one process: the two ends of an edge
// share queues of frames. It stands in for a network in tests of the tree and
// carries edges between agents that live in one process.
//
// A pair starts no goroutine and blocks only on sync.Cond and on channels of
// its own, so that it works inside a testing/synctest bubble; an idle pair
// takes about 3 KiB. Nothing is lost or delayed on the way and no peer falls
// silent: package linktest has a decorator for faults.
package memlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/internal/fifo"
)

// Limits of the bytes under way per stream and direction. Control never waits; a peer
// that leaves maxControlBacklog unread is lost.
const (
	window            = 1 << 20
	maxControlBacklog = 16 << 20
)

var (
	errPeerClosed = fmt.Errorf("%w: the peer closed it without END", link.ErrLost)
	errBacklog    = fmt.Errorf("%w: %d MiB of control frames were left unread", link.ErrLost, maxControlBacklog>>20)
)

// end is one side of a pair.
type end struct {
	peer   *end
	in     [link.NumStreams]fifo.Queue // frames of the peer
	atEOF  atomic.Uint32               // bit s: Recv(s) has returned io.EOF
	ending atomic.Bool                 // End was called
	acked  chan struct{}               // closed when the peer's atEOF is complete
	down   chan struct{}               // closed with the first cause
	mu     sync.Mutex
	cause  error // why the link is down; guarded by mu
}

var _ link.Link = (*end)(nil)

// allStreams is the value of atEOF once every stream has ended.
const allStreams = 1<<link.NumStreams - 1

// Pair returns the two connected sides of a new link.
func Pair() (parent, child link.Link) {
	p, c := newEnd(), newEnd()
	p.peer, c.peer = c, p
	return p, c
}

func newEnd() *end {
	e := &end{acked: make(chan struct{}), down: make(chan struct{})}
	for s := range e.in {
		e.in[s].Init(window)
	}
	e.in[link.Control].Init(maxControlBacklog)
	return e
}

// Send implements link.Link.
func (e *end) Send(s link.Stream, frame []byte) error {
	if s >= link.NumStreams {
		return fmt.Errorf("stream %d does not exist", s)
	}
	if limit := link.MaxFrameOf(s); len(frame) > limit {
		return fmt.Errorf("stream %v: a frame of %d bytes exceeds the limit of %d", s, len(frame), limit)
	}
	if e.ending.Load() {
		return link.ErrClosed
	}
	q := &e.peer.in[s]
	frame = bytes.Clone(frame)
	if s != link.Control {
		return q.Put(frame)
	}
	err := q.Offer(frame)
	if errors.Is(err, fifo.ErrFull) {
		e.lose(errBacklog)
		return errBacklog
	}
	return err
}

// Recv implements link.Link.
func (e *end) Recv(s link.Stream) ([]byte, error) {
	if s >= link.NumStreams {
		return nil, fmt.Errorf("stream %d does not exist", s)
	}
	frame, err := e.in[s].Get()
	if errors.Is(err, io.EOF) {
		bit := uint32(1) << s
		if old := e.atEOF.Or(bit); old != allStreams && old|bit == allStreams {
			close(e.peer.acked)
		}
	}
	return frame, err
}

// End implements link.Link.
func (e *end) End(ctx context.Context) error {
	e.ending.Store(true)
	for s := range e.peer.in {
		e.peer.in[s].End()
	}
	select {
	case <-e.acked:
	case <-e.down:
	case <-ctx.Done():
	}
	// Several causes may coincide: an acknowledged end stays so, unless this side
	// itself closed.
	e.mu.Lock()
	cause := e.cause
	e.mu.Unlock()
	if errors.Is(cause, link.ErrClosed) {
		return cause
	}
	select {
	case <-e.acked:
		return nil
	default:
	}
	if cause != nil {
		return cause
	}
	return fmt.Errorf("waiting for the peer to receive what was sent: %w", ctx.Err())
}

// Close implements link.Link.
func (e *end) Close() error {
	e.stop(link.ErrClosed)
	e.peer.stop(errPeerClosed)
	for s := range e.in {
		e.in[s].Fail(errPeerClosed, link.ErrClosed)
		e.peer.in[s].Fail(link.ErrClosed, errPeerClosed)
	}
	return nil
}

// lose takes the link down on both sides.
func (e *end) lose(cause error) {
	for _, side := range []*end{e, e.peer} {
		side.stop(cause)
		for s := range side.in {
			side.in[s].Fail(cause, cause)
		}
	}
}

// stop records why e is down; this side's own Close replaces a loss.
func (e *end) stop(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause == nil {
		close(e.down)
	}
	if e.cause == nil || errors.Is(cause, link.ErrClosed) {
		e.cause = cause
	}
}
