package overlay

import (
	"context"
	"sync"
	"time"
)

// Bounds of the window of handshakes in flight. It begins at 8, as unbounded
// fan-out is slower than any window (measured), grows while handshakes stay
// fast and halves when a host drops one.
const (
	windowBegin = 8
	windowMin   = 2
	windowMax   = 64
)

// window bounds how many handshakes one agent has in flight.
type window struct {
	mu       sync.Mutex
	limit    int
	inFlight int
	best     time.Duration
	waiting  []chan struct{}
}

func newWindow() *window { return &window{limit: windowBegin} }

// acquire waits for a place.
func (w *window) acquire(ctx context.Context) error {
	w.mu.Lock()
	if w.inFlight < w.limit {
		w.inFlight++
		w.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	w.waiting = append(w.waiting, turn)
	w.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range w.waiting {
		if t == turn {
			w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	w.inFlight-- // the place was granted just now: give it back
	w.admit()
	return ctx.Err()
}

// release gives a place back.
func (w *window) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight--
	w.admit()
}

// learn adapts the limit to how a handshake went.
func (w *window) learn(took time.Duration, dropped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dropped {
		w.limit = max(windowMin, w.limit/2)
		return
	}
	if w.best == 0 || took < w.best {
		w.best = took
	}
	if took <= 2*w.best {
		w.limit = min(windowMax, w.limit+1)
	}
	w.admit()
}

// admit lets waiting handshakes in; w.mu is held.
func (w *window) admit() {
	for w.inFlight < w.limit && len(w.waiting) > 0 {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
		w.inFlight++
	}
}
