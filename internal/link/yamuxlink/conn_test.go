package yamuxlink_test

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

// pipes are the byte pipes that links run over, each as a maker of two ends.
var pipes = map[string]func(t testing.TB) (parent, child io.ReadWriteCloser){
	"socketpair": socketpair,
	"tcp":        tcp,
	"net.Pipe": func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser) {
		return net.Pipe() // without any buffer
	},
}

func socketpair(t testing.TB) (parent, child io.ReadWriteCloser) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	var conns [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "socketpair")
		conns[i], err = net.FileConn(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return conns[0], conns[1]
}

func tcp(t testing.TB) (parent, child io.ReadWriteCloser) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	return near, far
}

// connect makes a link over the two ends of a pipe.
func connect(t testing.TB, parent, child io.ReadWriteCloser, lostAfter time.Duration) (p, c *yamuxlink.Link) {
	t.Helper()
	p, err := yamuxlink.New(parent, yamuxlink.Config{Parent: true, LostAfter: lostAfter})
	require.NoError(t, err)
	c, err = yamuxlink.New(child, yamuxlink.Config{LostAfter: lostAfter})
	require.NoError(t, err)
	return p, c
}

// calm is a LostAfter that no test outlives, however loaded the machine.
const calm = 10 * time.Minute

func openOver(pipe func(testing.TB) (io.ReadWriteCloser, io.ReadWriteCloser)) func(testing.TB) (link.Link, link.Link) {
	return func(t testing.TB) (link.Link, link.Link) {
		parent, child := pipe(t)
		return connect(t, parent, child, calm)
	}
}
