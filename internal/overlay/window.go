package overlay

import (
	"context"
	"sync"
	"time"

	"github.com/golaunch/golaunch/tree/pacing"
)

// window is a pacing.Window in which handshakes wait for their turn.
type window struct {
	mu      sync.Mutex
	rule    pacing.Window
	waiting []chan struct{}
}

func newWindow() *window { return &window{rule: pacing.NewWindow(pacing.WindowBegin)} }

// acquire waits for a permit.
func (w *window) acquire(ctx context.Context) error {
	w.mu.Lock()
	if w.rule.Enter() {
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
	w.rule.Leave() // the permit was granted just now: give it back
	w.admit()
	return ctx.Err()
}

// release gives a permit back.
func (w *window) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule.Leave()
	w.admit()
}

// learn adapts the window to how a handshake went.
func (w *window) learn(took time.Duration, dropped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule.Learn(took, dropped)
	w.admit()
}

// admit lets waiting handshakes in; w.mu is held.
func (w *window) admit() {
	for len(w.waiting) > 0 && w.rule.Enter() {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
	}
}
