package yamuxlink

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/yamux"

	"github.com/golaunch/golaunch/internal/link"
)

// outgoing is the sending half of a stream. Its mutex keeps whole the records of
// Control, where the link itself sends, too.
type outgoing struct {
	mu     sync.Mutex
	stream *yamux.Stream
	buf    []byte // a packet's header and the beginning of its payload, or all of it
}

const (
	// maxChunk bounds one write, in bytes, so that a packet of Control waits
	// for at most one chunk of each other stream, and so does the buffer into
	// which yamux copies each write. A record of the tree with all headers, a
	// little more than 64 KiB, is one write: each costs a turn of yamux's sender.
	maxChunk = 80 << 10
)

// Send implements link.Link.
func (l *Link) Send(s link.Stream, frame []byte) error {
	if s >= link.NumStreams {
		return fmt.Errorf("stream %d does not exist", s)
	}
	if limit := link.MaxFrameOf(s); len(frame) > limit {
		return fmt.Errorf("stream %v: a frame of %d bytes exceeds the limit of %d", s, len(frame), limit)
	}
	if l.ending.Load() {
		return link.ErrClosed
	}
	return l.write(s, kindFrame, frame)
}

// write sends one packet.
func (l *Link) write(s link.Stream, k kind, payload []byte) error {
	if err := l.await(); err != nil {
		return err
	}
	o := &l.out[s]
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.write(k, payload); err != nil {
		return l.broken(s, err)
	}
	return nil
}

// write sends one packet; the caller holds o.mu.
func (o *outgoing) write(k kind, payload []byte) error {
	n := min(len(payload), maxChunk-packetHeader)
	o.buf = append(appendHeader(o.buf[:0], k, len(payload)), payload[:n]...)
	if _, err := o.stream.Write(o.buf); err != nil {
		return err
	}
	for rest := payload[n:]; len(rest) > 0; {
		n := min(len(rest), maxChunk)
		if _, err := o.stream.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// End implements link.Link. When ctx ends first, the END records stay under
// way, and a further End waits for them again.
func (l *Link) End(ctx context.Context) error {
	l.ending.Store(true)
	l.endOnce.Do(l.startEnds)
	select {
	case <-l.acked:
	case <-l.down:
	case <-ctx.Done():
	}
	// Several causes may coincide: an acknowledged end stays so, unless this side
	// itself closed.
	cause := l.reason()
	if errors.Is(cause, link.ErrClosed) {
		return cause
	}
	select {
	case <-l.acked:
		return nil
	default:
	}
	if cause != nil {
		return cause
	}
	return fmt.Errorf("waiting for the peer to receive what was sent: %w", ctx.Err())
}

// startEnds writes END on every stream, in a goroutine of its own since a
// stream may have no room, which End must not outwait.
func (l *Link) startEnds() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return
	}
	// Ends when the records are written or the session is closed.
	l.wg.Go(func() {
		for s := range link.NumStreams {
			if l.write(s, kindEnd, nil) != nil {
				return // End sees why
			}
		}
	})
}

// Bits of Link.acks.
const (
	ackSent     = 1 << iota // this side's Ack was written
	ackReceived             // the peer's Ack arrived
)

// noteAck sets a bit of acks. The caller that sets the second says Done.
func (l *Link) noteAck(bit uint32) error {
	if l.acks.Or(bit)|bit != ackSent|ackReceived {
		return nil
	}
	return l.write(link.Control, kindDone, nil)
}

// Suspend announces that this process is about to be stopped and expects
// nothing of the peer either (on), or that it runs again (off). In between the
// peer neither counts it as lost nor sends beats; a connection that ends still
// is a loss. It returns once the announcement was written.
func (l *Link) Suspend(on bool) error {
	k := kindResume
	if on {
		k = kindSuspend
		l.suspend(&l.vigil.self, on)
	}
	err := l.write(link.Control, k, nil)
	if !on {
		l.suspend(&l.vigil.self, on)
	}
	return err
}
