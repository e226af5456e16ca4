package serve_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/unix"
)

// Connections of another user's end unread, however many there are and wherever they hide; those
// of this user enter, and one that was closed as not sure. The user is told of many in few lines.
func TestStrangersAtTheDoor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can give a socket to another user")
	}
	n := servetest.New(t, 0, nil, 1)
	x := n.Nodes[0]
	type entrant struct {
		fd   int
		sure bool
	}
	var in []entrant
	d, err := serve.OpenDoor(x.World, "DOOR", func(fd int, sure bool) error {
		if len(in) == 2 {
			return errors.New("there is no room")
		}
		in = append(in, entrant{fd, sure})
		t.Cleanup(func() { unix.Close(fd) })
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	call := func(set func(fd int) error) net.Conn {
		dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
			if cerr := raw.Control(func(fd uintptr) { err = set(int(fd)) }); cerr != nil {
				return cerr
			}
			return err
		}}
		c, err := dialer.Dial("tcp4", d.At.String())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	ours := func(int) error { return nil }
	others := func(fd int) error { return syscall.Fchown(fd, 65534, -1) }
	hidden := func(fd int) error { return errors.Join(syscall.BindToDevice(fd, "lo"), others(fd)) }

	const strangers = 40
	for i := range strangers {
		if i%2 == 0 {
			call(others)
		} else {
			call(hidden)
		}
	}
	call(ours)
	n.Run(func() bool { return len(in) == 1 })
	require.True(t, in[0].sure)
	require.LessOrEqual(t, len(x.Notes), strangers/16+1)
	require.Equal(t, "16 connections to DOOR were refused, of each: it is of user 65534", x.Notes[0][strings.Index(x.Notes[0], "16"):])

	require.NoError(t, call(ours).Close())
	n.Run(func() bool { return len(in) == 2 })
	require.False(t, in[1].sure)
	call(ours)
	n.Run(func() bool {
		return strings.Contains(x.Notes[len(x.Notes)-1], "a connection to DOOR was refused: there is no room")
	})
	d.Close()
	_, err = net.Dial("tcp4", d.At.String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.Zero(t, d.Take(16))
}
