package pacing

import "time"

// Bounds of the window of handshakes in flight. It begins at 8, as unbounded
// fan-out is slower than any window (measured), grows while handshakes stay
// fast and halves when a host drops one.
const (
	WindowBegin = 8
	windowMin   = 2
	windowMax   = 64
)

// Window bounds how many handshakes one agent has in flight.
type Window struct {
	limit    int
	inFlight int
	best     time.Duration
}

// NewWindow returns a window of so many permits, all free.
func NewWindow(permits int) Window { return Window{limit: permits} }

// Enter takes a permit and reports whether there was one.
func (w *Window) Enter() bool {
	if w.inFlight >= w.limit {
		return false
	}
	w.inFlight++
	return true
}

// Leave gives a permit back.
func (w *Window) Leave() { w.inFlight-- }

// Learn adapts the limit to how long a handshake took, or that the host
// dropped it.
func (w *Window) Learn(took time.Duration, dropped bool) {
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
}
