package servepmix

import (
	"time"

	"github.com/golaunch/golaunch/internal/pmix"
)

// A helper that is stopped, or hangs in its library, has ranks wait in silence that no
// agent can explain: that they wait is what it would have said.

// silence is what is known of a helper that may not answer.
type silence struct {
	asked bool // something that it answers at once
	looks int  // since then
	told  bool // the user was
}

// looksToSilence is how many looks there are in the time that makes a silence.
const looksToSilence = 2

// lookLater has the next look come.
func (h *helper) lookLater() {
	if d := h.local.patience; d > 0 {
		h.local.agent.After(max(d/looksToSilence, time.Millisecond), h.look)
	}
}

// look finds out whether it answers.
func (h *helper) look() {
	s := &h.silence
	if h.dead != nil || h.local.over {
		return
	}
	h.lookLater()
	if s.asked {
		if s.looks++; s.looks == looksToSilence {
			h.hear()
		}
	}
	switch {
	case !s.asked:
		s.asked = true
		h.ask(pmix.Ping{}, func(pmix.Frame) { h.spoke() })
	case s.looks == looksToSilence && h.dead == nil:
		s.told = true
		h.local.agent.Note(0, "the PMIx helper (golaunch-pmix, %s, pid %d) has not answered for %v: ranks that need it wait; is it stopped (kill -CONT %[2]d), or has its library hung?",
			h.library, h.local.helpers.PID(h.library), h.local.patience)
	}
}

// spoke notes that it has answered.
func (h *helper) spoke() {
	if h.silence.told && h.dead == nil {
		h.local.agent.Note(0, "the PMIx helper (golaunch-pmix, %s) answers again", h.library)
	}
	h.silence = silence{}
}
