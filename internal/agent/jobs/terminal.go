package jobs

import (
	"errors"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
)

// terminal is the master of the pseudo-terminal that rank 0 has as standard input,
// output and error (--pty), to type at. Output reads it by a descriptor of its own.
type terminal struct {
	stdinPipe
	rank *rank
	over bool // nobody types any more, nor looks
}

// The end of input is typed again and again, as a pipe that has ended stays so: at first
// after firstEnd, then after twice the time, up to lastEnd. Programs that take Ctrl-D for
// something else are not flooded.
const (
	firstEnd = 20 * time.Millisecond
	lastEnd  = time.Second
)

// errNoPage is why a terminal does not tell what was read of it.
var errNoPage = errors.New("a terminal is no pipe")

func (t *terminal) Unread() (int, error) { return 0, nil }
func (t *terminal) Resize(int) error     { return errNoPage }

// Close has the rank see the end of input for as long as it lives: the terminal is its
// output, too.
func (t *terminal) Close() {
	t.j.node.Forget(t.fd)
	t.typeEnd(firstEnd)
}

// typeEnd types the end of input where all was read, now and later on.
func (t *terminal) typeEnd(again time.Duration) {
	if t.over || t.rank.Exited {
		return
	}
	if err := unix.TypeEnd(t.fd); err != nil && !errors.Is(err, syscall.EINTR) {
		return // no process has it open
	}
	time.AfterFunc(again, func() { t.j.node.Post(func() { t.typeEnd(min(2*again, lastEnd)) }) })
}

// release lets go of the terminal of a rank that has ended, after Close. Nothing does so
// where the warden is lost: the agent ends then.
func (t *terminal) release() {
	if !t.over {
		t.over = true
		unix.Close(t.fd)
	}
}

// resize takes the size of the user's terminal.
func (si *stdin) resize(w unix.Window) {
	if si.terminal != nil && !si.terminal.over {
		_ = unix.SetWindow(si.terminal.fd, w) // then it stays as it was
	}
}
