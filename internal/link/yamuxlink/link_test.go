package yamuxlink_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/linktest"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, pipe := range pipes {
		t.Run(name, func(t *testing.T) { linktest.Run(t, openOver(pipe)) })
	}
}

func TestBadConfig(t *testing.T) {
	near, far := net.Pipe()
	_, err := yamuxlink.New(near, yamuxlink.Config{LostAfter: -1})
	require.ErrorContains(t, err, "LostAfter is negative")
	_, err = far.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "the connection is closed")
}

// The last frames of a dying peer are received although writes to it fail already.
func TestLastWordsAreHeard(t *testing.T) {
	for name, pipe := range pipes {
		t.Run(name, func(t *testing.T) {
			near, far := pipe(t)
			parent, child := connect(t, near, far, calm)
			defer parent.Close()
			pumped := make(chan error, 1)
			go func() {
				for {
					if err := parent.Send(link.Data, make([]byte, 10<<10)); err != nil {
						pumped <- err
						return
					}
				}
			}()
			_, err := child.Recv(link.Data)
			require.NoError(t, err)
			require.NoError(t, child.Send(link.Control, []byte("abort: out of memory")))
			require.NoError(t, child.Close())
			require.ErrorIs(t, <-pumped, link.ErrLost)
			if name == "tcp" {
				return // a reset may discard them in the kernel
			}
			f, err := parent.Recv(link.Control)
			require.NoError(t, err)
			require.Equal(t, "abort: out of memory", string(f))
			_, err = parent.Recv(link.Control)
			require.ErrorIs(t, err, link.ErrLost)
		})
	}
}

func TestUnreadControlIsALoss(t *testing.T) {
	near, far := socketpair(t)
	parent, child := connect(t, near, far, calm)
	defer parent.Close()
	defer child.Close()
	frame := make([]byte, link.MaxControlFrame)
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 1000, "the backlog is bounded")
		err = parent.Send(link.Control, frame)
	}
	require.ErrorIs(t, err, link.ErrLost)
	_, err = child.Recv(link.Data)
	require.ErrorContains(t, err, "link lost: 16 MiB of control frames were left unread")
}

// A connection that ends is named as such, not by what the multiplexer makes
// of it.
func TestCauseOfALoss(t *testing.T) {
	near, far := socketpair(t)
	parent, err := yamuxlink.New(near, yamuxlink.Config{Parent: true})
	require.NoError(t, err)
	defer parent.Close()
	require.NoError(t, far.Close())
	_, err = parent.Recv(link.Control)
	require.ErrorIs(t, err, link.ErrLost)
	require.Regexp(t, "^link lost: (its other side closed the connection without a word|.*(reset by peer|broken pipe))$", err.Error())
}
