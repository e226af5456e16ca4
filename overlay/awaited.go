package overlay

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/job"
)

// awaitedAfter is how long a host is tried until the user is told what it lacks: who
// mistyped a name is not to wait for nothing.
const awaitedAfter = time.Second

// HostAwaited is the event of a host that is tried again because something is not
// there yet, once for each. Text says what, and for how long, and not of which host.
type HostAwaited struct {
	Host job.HostIndex
	Text string
}

// tellAwaited tells what a host lacks, as soon as it is tried for long enough: then
// all hosts that lack it say so together. It returns what puts an end to that.
func (s *Starter) tellAwaited(h HostEntry, err *bootstrap.Error, begin time.Time, patience time.Duration) *time.Timer {
	text := fmt.Sprintf("%s: waiting up to %v for it (--connect-timeout)", err.Awaited, patience)
	return time.AfterFunc(awaitedAfter-time.Since(begin), func() { s.inbox.Put(HostAwaited{h.Index, Cut(text)}) })
}
