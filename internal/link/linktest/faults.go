package linktest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/golaunch/golaunch/internal/link"
)

// ErrInjected is wrapped by every error that a fault of this package causes.
var ErrInjected = errors.New("injected fault")

// Faults lists the ways in which WithFaults breaks a link. The zero value breaks
// nothing. Frames are counted from 1.
type Faults struct {
	// DropAt closes the link below in place of sending the DropAt-th frame,
	// counted over all streams; 0 never does. To this side and to the peer
	// the link is then lost.
	DropAt int
	// DropAtEnd closes the link below in place of End: the peer has every
	// frame and no END.
	DropAtEnd bool
	// FailSend is asked before the n-th frame of stream s is sent; Send returns its
	// error instead of sending. Nil fails nothing.
	FailSend func(s link.Stream, n int) error
	// BeforeSend and AfterRecv are called around the n-th frame of stream s
	// and delay it for as long as they block: tests let them wait for a
	// channel. Nil delays nothing.
	BeforeSend func(s link.Stream, n int)
	AfterRecv  func(s link.Stream, n int)
}

// WithFaults returns l broken as f says. Hooks are called from the goroutine
// that sends or receives, so possibly from one per stream and direction.
func WithFaults(l link.Link, f Faults) link.Link {
	return &faulty{Link: l, f: f}
}

type faulty struct {
	link.Link
	f Faults

	mu       sync.Mutex
	total    int // frames sent on any stream
	sent     [link.NumStreams]int
	received [link.NumStreams]int
	dropped  error // why the link below was closed, by a fault
	closed   bool  // Close was called
}

func (l *faulty) Send(s link.Stream, frame []byte) error {
	if s >= link.NumStreams {
		return l.Link.Send(s, frame) // it refuses the frame
	}
	l.mu.Lock()
	l.total++
	l.sent[s]++
	total, n := l.total, l.sent[s]
	l.mu.Unlock()

	if l.f.BeforeSend != nil {
		l.f.BeforeSend(s, n)
	}
	if l.f.FailSend != nil {
		if err := l.f.FailSend(s, n); err != nil {
			return err
		}
	}
	if total == l.f.DropAt {
		l.drop(fmt.Errorf("%w: %w at frame %d", link.ErrLost, ErrInjected, total))
	}
	return l.cause(l.Link.Send(s, frame))
}

func (l *faulty) Recv(s link.Stream) ([]byte, error) {
	frame, err := l.Link.Recv(s)
	if err != nil {
		return nil, l.cause(err)
	}
	l.mu.Lock()
	l.received[s]++
	n := l.received[s]
	l.mu.Unlock()
	if l.f.AfterRecv != nil {
		l.f.AfterRecv(s, n)
	}
	return frame, nil
}

func (l *faulty) End(ctx context.Context) error {
	if l.f.DropAtEnd {
		l.drop(fmt.Errorf("%w: %w in place of END", link.ErrLost, ErrInjected))
	}
	return l.cause(l.Link.End(ctx))
}

func (l *faulty) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return l.Link.Close()
}

func (l *faulty) drop(why error) {
	l.mu.Lock()
	if l.dropped == nil {
		l.dropped = why
	}
	l.mu.Unlock()
	_ = l.Link.Close()
}

// cause makes of the close that a fault brought about the loss it stands for.
func (l *faulty) cause(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped != nil && !l.closed && errors.Is(err, link.ErrClosed) {
		return l.dropped
	}
	return err
}
