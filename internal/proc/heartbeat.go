package proc

import "time"

// BeatsPerLoss is the number of heartbeats that an agent sends in the time after which
// it, or a warden that answers none of them, counts as lost.
const BeatsPerLoss = 4

// heartbeat is the warden's watch over its agent. One that is stopped, or hangs,
// holds its sockets open, so that nothing else shows it.
type heartbeat struct {
	every  time.Duration // 0: nothing is watched
	next   time.Time     // when the next tick is due; zero before the first beat
	silent int           // ticks since the last beat
}

// beat notes that the agent was heard.
func (h *heartbeat) beat(now time.Time) {
	if h.every > 0 {
		h.silent, h.next = 0, now.Add(h.every)
	}
}

// lost counts the tick that is due, if one is, and reports whether the agent
// was silent for too long. Ticks are counted, not time: while the warden itself
// is stopped, none passes.
func (h *heartbeat) lost(now time.Time) bool {
	if h.next.IsZero() || now.Before(h.next) {
		return false
	}
	h.silent, h.next = h.silent+1, now.Add(h.every)
	return h.silent > BeatsPerLoss
}

// wait returns the time until the next tick; negative if there is none.
func (h *heartbeat) wait(now time.Time) time.Duration {
	if h.next.IsZero() {
		return -1
	}
	return max(0, h.next.Sub(now))
}
