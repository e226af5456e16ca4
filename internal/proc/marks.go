package proc

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// marks finds out when ranks end. The kernel lets go of a dying process's descriptors from
// the highest number down, and after that has its parent reap it: the end of file on
// the rank's socket, whose number is as high as can be, comes before that on any
// connection of the program's, so before any peer of the rank's can hear of its end.
// The warden goes on watching a socket after it has handed its own end to the agent,
// who keeps it open until the rank was reaped: no descriptor of the warden's is held.
type marks struct {
	poll  *unix.Poller
	delay time.Duration         // time that the thread had waited for a processor before it slept; see wakeDelay
	slept bool                  // that is known
	ended map[int]time.Duration // by pid, of ranks that are not reaped yet; by the monotonic clock
}

// A mark's tag is the rank's pid, above socketTag: no child has the number of init.

func newMarks(poll *unix.Poller) marks {
	return marks{poll: poll, ended: map[int]time.Duration{}}
}

// watch has the end of a rank noted whose socket has this other end.
func (m *marks) watch(pid, fd int) error { return m.poll.AddEnd(fd, uint64(pid)) }

// sleeps is called before the warden waits, which it does not where it is busy.
func (m *marks) sleeps(busy bool) {
	if m.slept = false; !busy {
		m.delay, m.slept = unix.RunDelay()
	}
}

// wakeDelay returns the time that the thread waited for a processor after something
// woke it.
func (m *marks) wakeDelay() time.Duration {
	now, ok := unix.RunDelay()
	if !ok || !m.slept {
		return 0
	}
	return now - m.delay
}

// note takes what the poller had to say, once the warden is awake. On a busy node it may
// have waited for a processor since the end that woke it.
func (m *marks) note(ready []unix.Ready) {
	var at time.Duration
	first := true
	for _, r := range ready { // in the order in which it happened
		if r.Tag == socketTag {
			continue
		}
		if first {
			first = false
			at = unix.Monotonic()
			if m.poll.Woken(r.Tag) {
				at -= m.wakeDelay()
			}
		}
		at++ // no two at the same time
		// A program may close its socket and live on.
		if pid := int(r.Tag); isEnding(pid) {
			m.ended[pid] = at
		}
	}
}

// take returns the time at which a rank ended that was reaped just now.
func (m *marks) take(pid int) time.Duration {
	at, marked := m.ended[pid]
	if !marked { // it closed its socket before, or a child of its holds that open
		return unix.Monotonic()
	}
	delete(m.ended, pid)
	return at
}

// isEnding reports whether a child that was not reaped has begun to end.
func isEnding(pid int) bool {
	buf := make([]byte, 1024)
	n, err := readProc(fmt.Sprintf("/proc/%d/stat", pid), buf)
	if err != nil {
		return false
	}
	p, ok := parseStat(buf[:n])
	return ok && p.ending
}
