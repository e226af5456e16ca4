// Package fifo is the queue of received frames that the implementations of
// link.Link keep per stream: first in, first out, bounded in bytes, with an end
// and with separate errors for its two sides.
//
// The queue owns no goroutine. It blocks on a sync.Cond only, so that it works inside a
// testing/synctest bubble. It knows neither streams nor peers; the link that owns it
// gives losses and ends their meaning.
package fifo

import (
	"errors"
	"io"
	"sync"

	"github.com/golaunch/golaunch/internal/link"
)

// Overhead is charged for a queued frame on top of its payload, in bytes: its slice
// header and the slack of its allocation. It bounds the number of empty frames a queue
// can hold.
const Overhead = 64

// ErrFull is returned by Offer when the frame would exceed the queue's limit.
var ErrFull = errors.New("frame queue full")

// Queue is a bounded queue of frames for any number of writers and readers.
// It must be initialised with Init and not be copied.
type Queue struct {
	mu      sync.Mutex
	changed sync.Cond // anything below changed; L is &mu
	frames  [][]byte  // frames[head:] are queued
	head    int
	charged int // payload and Overhead of all queued frames
	limit   int
	ended   bool
	putErr  error // error of writers, once set
	getErr  error // error of readers, once set and everything queued was returned
}

// Init prepares q to hold up to limit bytes, Overhead included.
func (q *Queue) Init(limit int) {
	q.changed.L = &q.mu
	q.limit = limit
}

// Put appends frame, of which the queue takes ownership, and blocks while it
// would exceed the limit. A frame longer than the limit is taken by an empty
// queue. The error is the one set by Fail.
func (q *Queue) Put(frame []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.putErr == nil && q.full(frame) {
		q.changed.Wait()
	}
	return q.append(frame)
}

// Offer is Put that returns ErrFull where Put would block.
func (q *Queue) Offer(frame []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.putErr == nil && q.full(frame) {
		return ErrFull
	}
	return q.append(frame)
}

func (q *Queue) full(frame []byte) bool {
	return q.charged > 0 && q.charged+len(frame)+Overhead > q.limit
}

func (q *Queue) append(frame []byte) error {
	if q.putErr != nil {
		return q.putErr
	}
	q.frames = append(q.frames, frame)
	q.charged += len(frame) + Overhead
	q.changed.Broadcast()
	return nil
}

// Get removes and returns the first frame, and blocks while there is none. Once
// the queue is empty it returns io.EOF after End, else the error set by Fail.
func (q *Queue) Get() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch {
		case q.head < len(q.frames):
			return q.pop(), nil
		case q.ended:
			return nil, io.EOF
		case q.getErr != nil:
			return nil, q.getErr
		}
		q.changed.Wait()
	}
}

// pop returns the first frame and gives back the space of those before it once
// they are the larger half.
func (q *Queue) pop() []byte {
	frame := q.frames[q.head]
	q.frames[q.head] = nil
	q.head++
	q.charged -= len(frame) + Overhead
	switch {
	case q.head == len(q.frames) && cap(q.frames) > 64:
		q.frames, q.head = nil, 0
	case q.head == len(q.frames):
		q.frames, q.head = q.frames[:0], 0
	case q.head >= 64 && 2*q.head >= len(q.frames):
		n := copy(q.frames, q.frames[q.head:])
		clear(q.frames[n:])
		q.frames, q.head = q.frames[:n], 0
	}
	q.changed.Broadcast()
	return frame
}

// End says that no frame will follow those queued. It does nothing once Fail has given
// the writers an error.
func (q *Queue) End() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.putErr == nil {
		q.ended = true
	}
	q.changed.Broadcast()
}

// Fail makes every Put return put, and every Get return get once the queue is empty
// (io.EOF, if it was ended). The first error of a side stays, except that
// link.ErrClosed, the side's own doing, replaces a loss; as get it also discards queued
// frames. A nil error leaves its side alone.
func (q *Queue) Fail(put, get error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.putErr == nil || errors.Is(put, link.ErrClosed) {
		q.putErr = put
	}
	if q.getErr == nil || errors.Is(get, link.ErrClosed) {
		q.getErr = get
	}
	if errors.Is(get, link.ErrClosed) {
		q.frames, q.head, q.charged, q.ended = nil, 0, 0, false
	}
	q.changed.Broadcast()
}
