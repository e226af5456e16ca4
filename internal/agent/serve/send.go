package serve

import (
	"slices"

	"github.com/golaunch/golaunch/internal/unix"
)

// Send writes to a rank's socket what it takes of held, which found no room before,
// and of data behind it. It returns what is to be held now, somewhere in held's memory
// where there was some, and how much was written; gone says that the rank has hung up,
// and nothing is held.
func Send(fd int, held, data []byte) (rest []byte, written int, gone bool) {
	all := data
	if len(held) > 0 {
		held = append(held, data...)
		all = held
	}
	n, err := unix.TrySend(fd, all)
	switch {
	case err != nil && err != unix.EAGAIN:
		return nil, 0, true
	case n == len(all):
		return nil, n, false
	}
	if len(held) > 0 {
		return all[n:], n, false
	}
	return slices.Clone(all[n:]), n, false
}

// Refusals are those of connections that anybody on the node, or a rank, can have
// refused as often as they like: the user is told of the first, and of others only if
// they asked for so much.
type Refusals struct{ told bool }

// Level is that of the note about the next.
func (r *Refusals) Level() int {
	if r.told {
		return 2
	}
	r.told = true
	return 0
}
