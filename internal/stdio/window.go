package stdio

import (
	"fmt"
	"math"
)

// Bytes of standard input that may be under way to a rank that has not read
// them: WindowSize in the end, and WindowFirst before a single reader has shown
// that it reads at all.
const (
	WindowFirst = 4 << 10
	WindowSize  = 256 << 10
)

// Ended is the acknowledgement of a reader that will never read more: it holds
// nobody up.
const Ended = math.MaxInt64

// Window is the launcher's account of standard input under way to one rank, or to all
// of them (then acknowledgements are the minimum that Acks forms along the tree): never
// more than its size beyond the last acknowledged byte. The size doubles with each
// acknowledgement, so that a reader that stops early has little under way.
type Window struct {
	size, most  int64
	sent, acked int64
}

// NewWindow returns a window of first bytes, which must be positive, that grows
// to most bytes.
func NewWindow(first, most int) (*Window, error) {
	if first <= 0 || most < first {
		return nil, fmt.Errorf("stdin window: sizes %d to %d are not positive and in order", first, most)
	}
	return &Window{size: int64(first), most: int64(most)}, nil
}

// Limit returns how many bytes may be sent in all, as far as is known.
func (w *Window) Limit() int64 {
	if w.acked == Ended {
		return w.sent
	}
	return w.acked + w.size
}

// Room returns how many bytes may be sent now: 0 while the window is full and
// once every reader has ended.
func (w *Window) Room() int { return int(w.Limit() - w.sent) }

// Sent counts n bytes that were sent. More than Room is refused, and not
// counted.
func (w *Window) Sent(n int) error {
	if n < 0 || n > w.Room() {
		return fmt.Errorf("stdin window: %d bytes sent, room for %d", n, w.Room())
	}
	w.sent += int64(n)
	return nil
}

// Ack notes that all readers have taken the first total bytes, or that all
// have Ended. An acknowledgement of bytes never sent, or of fewer than before,
// is refused and changes nothing.
func (w *Window) Ack(total int64) error {
	if err := checkAck(w.acked, total); err != nil {
		return fmt.Errorf("stdin window: %w", err)
	}
	if total > w.sent && total != Ended {
		return fmt.Errorf("stdin window: %d bytes acknowledged, %d sent", total, w.sent)
	}
	if total > w.acked {
		w.size = min(w.most, 2*w.size)
	}
	w.acked = total
	return nil
}

// Ended says that no reader is left: standard input need not be read on.
func (w *Window) Ended() bool { return w.acked == Ended }

// Unread returns the bytes sent that some reader has yet to take.
func (w *Window) Unread() int64 {
	if w.acked == Ended {
		return 0
	}
	return w.sent - w.acked
}

func checkAck(old, total int64) error {
	if total < old {
		return fmt.Errorf("acknowledgement went back from %d to %d", old, total)
	}
	return nil
}

// Acks is an agent's combination of acknowledgements: of its own ranks that read
// standard input and of the subtrees below. The least of them goes up, and only when it
// has moved by a quarter of the window, or has reached the end, so that a byte read
// costs no message of its own.
type Acks struct {
	step  int64
	acked []int64
	least int64 // the minimum of acked
	at    int   // members of acked that equal least
	told  int64 // the last value Take returned
}

// NewAcks returns the combination of n readers, numbered from 0 as the caller
// likes, for a window of the given size in bytes. With no reader it has ended
// from the start.
func NewAcks(n, window int) (*Acks, error) {
	if n < 0 || window <= 0 {
		return nil, fmt.Errorf("stdin acknowledgements: %d readers, window of %d bytes", n, window)
	}
	a := &Acks{step: max(1, int64(window)/4), acked: make([]int64, n)}
	a.settle()
	return a, nil
}

// Ack notes that reader i has taken the first total bytes in all, or has
// Ended. An unknown reader, and a total below its last one, are refused and
// change nothing; after Ended only Ended is accepted.
func (a *Acks) Ack(i int, total int64) error {
	if i < 0 || i >= len(a.acked) {
		return fmt.Errorf("stdin acknowledgements: no reader %d of %d", i, len(a.acked))
	}
	old := a.acked[i]
	if err := checkAck(old, total); err != nil {
		return fmt.Errorf("stdin acknowledgements: reader %d: %w", i, err)
	}
	if total == old {
		return nil
	}
	a.acked[i] = total
	if old == a.least {
		if a.at--; a.at == 0 {
			a.settle()
		}
	}
	return nil
}

// settle finds the minimum anew. All readers at the old minimum have moved
// since the last time, so the look at every reader is paid for.
func (a *Acks) settle() {
	a.least, a.at = Ended, 0
	for _, v := range a.acked {
		switch {
		case v < a.least:
			a.least, a.at = v, 1
		case v == a.least:
			a.at++
		}
	}
}

// Take returns the acknowledgement to send up when received bytes have come in
// all, and false while there is none worth sending. Taking it counts as sending
// it.
func (a *Acks) Take(received int64) (int64, bool) {
	if a.least == a.told || a.least < received && a.least-a.told < a.step {
		return 0, false
	}
	a.told = a.least
	return a.told, true
}
