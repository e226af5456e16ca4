package yamuxlink

// vigil decides, tick by tick, whether the peer is alive and whether this side
// should say that it is. It owns no clock: the link calls tick at a steady
// rate with the wire's counters.
type vigil struct {
	last   counters
	silent int // ticks without a byte from the peer
	stuck  int // ticks in which a write under way made no progress
	idle   int // ticks without a write
	early  int // ticks before the streams were open
	// self and peer say which side announced that it would be silent.
	self, peer bool
}

// counters are the wire's at one tick.
type counters struct{ heard, begun, written uint64 }

const (
	lostTicks = 10 // of silence before the peer is lost
	beatTicks = 2  // without a write before a beat
)

// tickVerdict is the outcome of a tick.
type tickVerdict struct {
	beat bool   // nothing was sent for a while
	lost string // why the peer is lost, or ""
}

// tick takes the counters of now, and whether the streams are open.
func (v *vigil) tick(now counters, open bool) tickVerdict {
	before := v.last
	v.last = now
	if v.self || v.peer {
		return tickVerdict{}
	}
	count(&v.silent, now.heard == before.heard)
	count(&v.stuck, now.written == before.written && now.begun != now.written)
	count(&v.idle, now.begun == before.begun)
	count(&v.early, !open)
	switch {
	case v.silent >= lostTicks:
		return tickVerdict{lost: "nothing was heard of the peer"}
	case v.stuck >= lostTicks:
		return tickVerdict{lost: "the peer took no bytes"}
	case v.early >= lostTicks:
		return tickVerdict{lost: "the streams were not opened"}
	}
	return tickVerdict{beat: open && v.idle >= beatTicks}
}

func count(n *int, still bool) {
	if still {
		*n++
	} else {
		*n = 0
	}
}

// suspend notes that a side, &v.self or &v.peer, goes silent or is back. Neither is
// blamed for earlier events.
func (v *vigil) suspend(side *bool, on bool) {
	*side = on
	v.silent, v.stuck, v.idle, v.early = 0, 0, 0, 0
}
