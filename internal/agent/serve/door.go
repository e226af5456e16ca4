package serve

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// Door is a port of the loopback interface that this user's processes alone enter. Those of
// others are closed unread, many in one turn of the event loop, to which it belongs.
type Door struct {
	At netip.AddrPort

	w        *World
	name     string // of what is served there
	fd       int    // -1 when closed
	enter    func(fd int, sure bool) error
	refusals Refusals
}

// callBatch is the number of calls taken in one turn of the event loop, unless to look up
// their owners takes long. Anybody on the node can make more of them than there are descriptors.
const callBatch = 16

// DoorFiles is the number of descriptors that a door takes beside those of its ranks.
const DoorFiles = MoreCallers + 1

// OpenDoor listens. A connection of this user's is handed to enter, which owns it unless it
// returns why it is refused; so is one whose owner can't be told as it was closed: not sure.
func OpenDoor(w *World, name string, enter func(fd int, sure bool) error) (*Door, error) {
	fd, at, err := unix.ListenLoopback()
	if err != nil {
		return nil, fmt.Errorf("listen for ranks: %w", err)
	}
	d := &Door{At: at, w: w, name: name, fd: fd, enter: enter}
	if err := w.Watch(fd, d); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return d, nil
}

// Open reports a door that listens. There may be no door at all.
func (d *Door) Open() bool { return d != nil && d.fd >= 0 }

// Close ends listening.
func (d *Door) Close() {
	if d.Open() {
		d.w.CloseFD(d.fd)
		d.fd = -1
	}
}

// Ready takes calls.
func (d *Door) Ready(unix.Ready, []byte) { d.Take(callBatch) }

// Take takes some of the calls that wait, most of them or so, and returns how many there
// were.
func (d *Door) Take(most int) int {
	if !d.Open() {
		return 0
	}
	calls, rest, err := unix.TakeCalls(d.fd, min(most, callBatch))
	if len(calls) == 0 && err != nil && rest == 0 {
		d.w.FailNode("start", fmt.Errorf("%s: %w", d.name, err))
		d.Close()
		return 0
	}
	if rest > 0 {
		d.rest(rest)
	}
	refused := map[string]int{} // by the reason
	for _, c := range calls {
		why := err
		if why == nil {
			why = d.admit(c)
		}
		if why != nil {
			unix.Close(c.FD)
			refused[why.Error()]++
		}
	}
	for why, n := range refused {
		d.refuse(n, why)
	}
	return len(calls)
}

// admit hands a connection on, or says why it is refused.
func (d *Door) admit(c unix.Call) error {
	sure := c.UID == os.Getuid()
	switch {
	case !d.Open():
		return errors.New("all ranks have called")
	case c.UID >= 0 && !sure:
		return fmt.Errorf("it is of user %d", c.UID)
	case !sure && !unix.HungUp(c.FD): // somebody has it, and hides
		return errors.New("it can't be seen whose it is")
	}
	return d.enter(c.FD, sure)
}

// rest leaves the calls that come alone for a while.
func (d *Door) rest(long time.Duration) {
	if err := d.w.Change(d.fd, false, false); err != nil {
		d.w.FailNode("start", err)
		return
	}
	time.AfterFunc(long, func() {
		d.w.Post(func() {
			if d.Open() {
				_ = d.w.Change(d.fd, true, false) // as it was
			}
		})
	})
}

// Refuse tells the user why a connection was refused.
func (d *Door) Refuse(why error) { d.refuse(1, why.Error()) }

func (d *Door) refuse(n int, why string) {
	if n == 1 {
		d.w.Note(d.refusals.Level(), "a connection to %s was refused: %s", d.name, why)
		return
	}
	d.w.Note(d.refusals.Level(), "%d connections to %s were refused, of each: %s", n, d.name, why)
}
