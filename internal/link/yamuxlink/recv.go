package yamuxlink

import (
	"errors"
	"fmt"
	"io"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/internal/fifo"
)

// allStreams is the value of Link.atEOF once every stream has ended.
const allStreams = 1<<link.NumStreams - 1

// Recv implements link.Link.
func (l *Link) Recv(s link.Stream) ([]byte, error) {
	switch {
	case s >= link.NumStreams:
		return nil, fmt.Errorf("stream %d does not exist", s)
	case s == link.Control:
		frame, err := l.control.Get()
		if errors.Is(err, io.EOF) {
			l.noteEOF(s)
		}
		return frame, err
	}
	if err := l.await(); err != nil {
		return nil, err
	}
	if l.closed.Load() {
		return nil, link.ErrClosed
	}
	if l.atEOF.Load()&(1<<s) != 0 {
		return nil, io.EOF
	}
	k, frame, err := readPacket(l.in[s].buf, s)
	switch {
	case err != nil:
		return nil, l.broken(s, err)
	case k == kindEnd:
		l.noteEOF(s)
		return nil, io.EOF
	}
	return frame, nil
}

// noteEOF notes that Recv returns io.EOF on s, and acknowledges the peer's end with the
// last of the streams. An acknowledgement that cannot be written takes the link down,
// which the peer's End reports; received frames stay so.
func (l *Link) noteEOF(s link.Stream) {
	bit := uint32(1) << s
	if old := l.atEOF.Or(bit); old == allStreams || old|bit != allStreams {
		return
	}
	if l.write(link.Control, kindAck, nil) == nil {
		_ = l.noteAck(ackSent)
	}
}

// readControl reads Control until the link is down, and returns why. It keeps
// frames for Recv and obeys every other packet at once.
func (l *Link) readControl() error {
	var ended, done bool // the peer sent End, Done
	for {
		k, frame, err := readPacket(l.in[link.Control].buf, link.Control)
		if err != nil {
			return err
		}
		switch k {
		case kindFrame:
			if ended {
				return protocolError("a control frame after END")
			}
			err := l.control.Offer(frame)
			if errors.Is(err, fifo.ErrFull) {
				return fmt.Errorf("%d MiB of control frames were left unread", maxControlBacklog>>20)
			}
			if err != nil {
				return err
			}
		case kindEnd:
			ended = true
			l.control.End()
		case kindAck:
			if !l.ending.Load() || l.acks.Load()&ackReceived != 0 {
				return protocolError("an acknowledgement of nothing")
			}
			close(l.acked)
			if err := l.noteAck(ackReceived); err != nil {
				return err
			}
		case kindDone:
			if l.acks.Load()&ackReceived == 0 || done {
				return protocolError("done before the acknowledgement, or twice")
			}
			done = true
			close(l.peerDone)
		case kindBeat: // the wire counted it
		case kindSuspend, kindResume:
			l.suspend(&l.vigil.peer, k == kindSuspend)
		}
	}
}
