package overlay

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// connectFlag bounds retries without another rule.
const connectFlag = "--connect-timeout"

// Times that a host is tried until the user is told what it lacks, so that a mistyped
// name is noticed. A command that has failed has said more than a network does, where a
// moment's trouble is nothing new.
const (
	awaitedAfter = 2 * time.Second
	failedAfter  = time.Second
)

// HostAwaited is the event of a host that is tried again because something is not there
// yet, once for each. Text names that, and the time, but not the host.
type HostAwaited struct {
	Host job.HostIndex
	Text string
}

// tellAwaited tells the thing that a host lacks, as soon as it is tried for long
// enough: then all hosts that lack it say so together. It returns the timer to stop.
func (s *Starter) tellAwaited(h HostEntry, err *bootstrap.Error, begin time.Time) *time.Timer {
	limits := s.common.Limits()
	patience, flag := err.Patience(limits), connectFlag
	if patience < limits.ConnectTimeout {
		flag = "--wait waits longer"
	}
	after := awaitedAfter
	if err.Phase == bootstrap.Command {
		after = failedAfter
	}
	return time.AfterFunc(after-time.Since(begin), func() { s.awaited(h, err.Awaited, patience, flag) })
}

// awaited tells the thing that a host lacks, unless the user knows that it is awaited.
func (s *Starter) awaited(h HostEntry, lacks string, patience time.Duration, flag string) {
	if _, told := s.told.LoadOrStore(h.Index, true); !told && !h.Told {
		s.inbox.Put(HostAwaited{h.Index, Cut(fmt.Sprintf("%s: waiting up to %v for it (%s)", lacks, patience, flag))})
	}
}
