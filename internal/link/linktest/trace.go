package linktest

import (
	"context"
	"fmt"

	"github.com/golaunch/golaunch/internal/link"
)

// Op names a call of a link.
type Op string

// The calls that WithTrace reports.
const (
	Send  Op = "send"
	Recv  Op = "recv"
	End   Op = "end"
	Close Op = "close"
)

// Event is one call of a link that has returned.
type Event struct {
	Op     Op
	Stream link.Stream // of Send and Recv
	Frame  []byte      // of Send and Recv; valid during the report only
	Err    error
}

// String renders "send 2: 17 bytes" or "end: link lost".
func (e Event) String() string {
	s := string(e.Op)
	if e.Op == Send || e.Op == Recv {
		s += fmt.Sprintf(" %v: %d bytes", e.Stream, len(e.Frame))
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// WithTrace returns l with every call reported, as it returns, from the
// goroutine that made it.
func WithTrace(l link.Link, report func(Event)) link.Link {
	return traced{Link: l, report: report}
}

type traced struct {
	link.Link
	report func(Event)
}

func (l traced) Send(s link.Stream, frame []byte) error {
	err := l.Link.Send(s, frame)
	l.report(Event{Op: Send, Stream: s, Frame: frame, Err: err})
	return err
}

func (l traced) Recv(s link.Stream) ([]byte, error) {
	frame, err := l.Link.Recv(s)
	l.report(Event{Op: Recv, Stream: s, Frame: frame, Err: err})
	return frame, err
}

func (l traced) End(ctx context.Context) error {
	err := l.Link.End(ctx)
	l.report(Event{Op: End, Err: err})
	return err
}

func (l traced) Close() error {
	err := l.Link.Close()
	l.report(Event{Op: Close, Err: err})
	return err
}
