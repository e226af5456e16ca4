package yamuxlink

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// wire is the connection as the multiplexer sees it. It counts bytes, for the vigil,
// and joins the multiplexer's header and body, which come as two writes, into one.
type wire struct {
	conn io.ReadWriteCloser
	// held is a header that waits for its body; only the multiplexer's one
	// sending goroutine touches it.
	held []byte

	heard   atomic.Uint64 // reads that returned bytes
	begun   atomic.Uint64 // writes begun
	written atomic.Uint64 // writes completed

	overOnce sync.Once
	over     chan struct{} // closed when nothing more will be read
}

func newWire(conn io.ReadWriteCloser) *wire {
	return &wire{conn: conn, over: make(chan struct{})}
}

const (
	muxHeader   = 12 // bytes of a yamux header
	muxTypeData = 0  // the one type whose header is followed by length bytes
	// maxJoined bounds the part of a header and its body that is joined, in bytes: one
	// packet of SSH holds as many, so that a long body takes no more of these.
	maxJoined = 32 << 10
)

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.conn.Read(p)
	if n > 0 {
		w.heard.Add(1)
	}
	if err != nil {
		w.setOver()
	}
	return n, err
}

// Write implements io.Writer. The error of a held header is that of its body.
func (w *wire) Write(p []byte) (int, error) {
	if len(w.held) == 0 {
		if announcesBody(p) {
			w.held = append(w.held, p...)
			return len(p), nil
		}
		return w.send(p)
	}
	n := min(len(p), maxJoined-len(w.held))
	joined := append(w.held, p[:n]...)
	w.held = joined[:0] // keeps the larger array
	if _, err := w.send(joined); err != nil {
		return 0, err
	}
	if n == len(p) {
		return n, nil
	}
	m, err := w.send(p[n:])
	return n + m, err
}

func (w *wire) send(p []byte) (int, error) {
	w.begun.Add(1)
	n, err := w.conn.Write(p)
	if err != nil {
		// The multiplexer will close the connection. A peer that died has
		// left its last words in it: they are read first.
		t := time.NewTimer(lingerTime)
		select {
		case <-w.over:
		case <-t.C:
		}
		t.Stop()
		// Some pipes, SSH's among them, say so of a closed peer.
		if errors.Is(err, io.EOF) {
			err = errNoEnd
		}
	}
	w.written.Add(1)
	return n, err
}

// announcesBody says whether p is a yamux header (version, type, flags, stream,
// length) that the next write completes.
func announcesBody(p []byte) bool {
	return len(p) == muxHeader && p[1] == muxTypeData && binary.BigEndian.Uint32(p[8:]) > 0
}

func (w *wire) setOver() { w.overOnce.Do(func() { close(w.over) }) }

func (w *wire) Close() error {
	w.setOver()
	return w.conn.Close()
}
