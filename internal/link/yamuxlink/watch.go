package yamuxlink

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/link"
)

// period returns the time between two ticks.
func (l *Link) period() time.Duration {
	return max(l.cfg.LostAfter/lostTicks, time.Millisecond)
}

// tick runs in the timer's goroutine, which wg counts: it looks after the peer,
// arms the next tick and sends a beat if one is due.
func (l *Link) tick() {
	defer l.wg.Done()
	open := false
	select {
	case <-l.opened:
		open = true
	default:
	}
	now := counters{l.wire.heard.Load(), l.wire.begun.Load(), l.wire.written.Load()}
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	v := l.vigil.tick(now, open)
	if v.lost == "" {
		l.wg.Add(1) // the next tick
		l.timer.Reset(l.period())
	}
	l.mu.Unlock()

	switch {
	case v.lost != "":
		cause := fmt.Errorf("%s for %v", v.lost, l.cfg.LostAfter)
		l.cfg.Silent(fmt.Errorf("%w: %w", link.ErrLost, cause))
		_ = l.lose(cause)
	case l.mux.NumStreams() > int(link.NumStreams):
		_ = l.lose(protocolError("the peer opened more than %d streams", link.NumStreams))
	case v.beat:
		l.beat()
	}
}

// beat tells the peer that this side lives, and gives back the buffers of a
// link that has fallen quiet.
func (l *Link) beat() {
	for s := range l.in {
		l.in[s].stream.Shrink()
	}
	o := &l.out[link.Control]
	if !o.mu.TryLock() {
		return // a packet under way tells the peer as much
	}
	defer o.mu.Unlock()
	if err := o.write(kindBeat, nil); err != nil {
		_ = l.broken(link.Control, err)
	}
}

// suspend tells the vigil that a side goes silent or is back.
func (l *Link) suspend(side *bool, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vigil.suspend(side, on)
}
