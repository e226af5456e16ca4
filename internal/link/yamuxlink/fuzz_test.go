package yamuxlink_test

import (
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"testing"

	"github.com/hashicorp/yamux"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

// survive uses l like an agent does, whatever the peer does, and returns once
// every call has: each with legal frames, an end or a loss.
func survive(t *testing.T, l *yamuxlink.Link) {
	var wg sync.WaitGroup
	for s := range link.NumStreams {
		wg.Go(func() {
			for {
				f, err := l.Recv(s)
				if err != nil {
					if err != io.EOF && !errors.Is(err, link.ErrLost) {
						t.Errorf("stream %d: %v", s, err)
					}
					return
				}
				if len(f) > link.MaxFrameOf(s) {
					t.Errorf("stream %d: a frame of %d bytes", s, len(f))
				}
			}
		})
		wg.Go(func() {
			if err := l.Send(s, []byte("hello")); err != nil && !errors.Is(err, link.ErrLost) {
				t.Errorf("stream %d: %v", s, err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, l.Close())
}

// FuzzBytes is a peer that writes anything at all and closes.
func FuzzBytes(f *testing.F) {
	f.Add(true, []byte("SSH-2.0-OpenSSH_10.0\r\n"))
	f.Add(false, []byte{0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0})
	f.Add(false, []byte{0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}) // a ping
	f.Add(true, []byte{0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})  // go away
	f.Add(true, []byte{0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Fuzz(func(t *testing.T, parent bool, data []byte) {
		near, far := net.Pipe()
		l, err := yamuxlink.New(near, yamuxlink.Config{Parent: parent, LostAfter: calm})
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, far) })
		wg.Go(func() {
			_, _ = far.Write(data) // fails when the link gives up earlier
			_ = far.Close()
		})
		survive(t, l)
		wg.Wait()
	})
}

// FuzzRecords is a parent that speaks yamux well and writes anything on its
// streams.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04"), []byte("\x00\x00\x00\x01x\x01\x00\x00\x00\x02\x00\x00\x00"), []byte("\x01\x00\x00\x00"))
	f.Add([]byte("\x04\x03\x02\x01\x00"), []byte("\x05\x00\x00\x00\x06\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00"), []byte("\x00\x10\x00\x40"))
	f.Add([]byte("\x00\x00\x00"), []byte("\x01\x00\x00\x00\x01\x00\x00\x00"), []byte{})
	f.Add([]byte("\x09\x09\x09\x09\x09\x09\x09"), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, ids, control, other []byte) {
		near, far := net.Pipe()
		l, err := yamuxlink.New(near, yamuxlink.Config{LostAfter: calm})
		require.NoError(t, err)
		cfg := yamux.DefaultConfig()
		cfg.LogOutput, cfg.EnableKeepAlive, cfg.StreamOpenTimeout = io.Discard, false, 0
		cfg.ConnectionWriteTimeout = math.MaxInt64
		session, err := yamux.Client(far, cfg)
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer session.Close()
			for _, id := range ids[:min(len(ids), int(link.NumStreams))] {
				stream, err := session.Open()
				if err != nil {
					return
				}
				text := other
				if id == byte(link.Control) {
					text = control
				}
				for _, b := range [][]byte{{id}, text[:min(len(text), 100<<10)]} {
					if _, err := stream.Write(b); err != nil {
						return
					}
				}
			}
		})
		survive(t, l)
		wg.Wait()
	})
}
