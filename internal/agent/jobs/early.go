package jobs

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/overlay"
)

// early is what the parent has said of worlds that this node has not heard of.
type early map[int]*earlyWorld

// earlyWorld is that of one world.
type earlyWorld struct {
	messages []overlay.Message
	bytes    int
}

// mostEarly bounds it, for each world, in bytes: a parent may have 1 MiB under way, and
// a byte for each that is given back. A message counts earlyCost beside its body.
const (
	mostEarly = 4 << 20
	earlyCost = 64
)

func (e *early) hold(world int, m overlay.Message) error {
	if *e == nil {
		*e = early{}
	}
	w := (*e)[world]
	if w == nil {
		w = &earlyWorld{}
		(*e)[world] = w
	}
	if w.bytes += len(m.Body) + earlyCost; w.bytes > mostEarly {
		return fmt.Errorf("more than %d bytes about world %d before the world", mostEarly, world)
	}
	w.messages = append(w.messages, m)
	return nil
}

// take returns what was said of a world, and forgets what was of earlier ones, which
// never came.
func (e early) take(world int) (held []overlay.Message) {
	if w := e[world]; w != nil {
		held = w.messages
	}
	for id := range e {
		if id <= world {
			delete(e, id)
		}
	}
	return held
}
