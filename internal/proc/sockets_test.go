package proc

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The other ends of a process's connections are found, and who has them.
func TestConnected(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() { // ends with the call
		c, _ := l.Accept()
		accepted <- c
	}()
	c, err := net.Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	far := <-accepted
	require.NotNil(t, far)
	defer far.Close()
	f, err := c.(*net.TCPConn).File()
	require.NoError(t, err)
	defer f.Close()
	cmd := exec.Command("cat")
	cmd.ExtraFiles = []*os.File{f}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	ends, err := Connected(os.Getpid())
	require.NoError(t, err)
	var pids []int
	for _, e := range ends {
		pids = append(pids, e...)
	}
	require.Contains(t, pids, cmd.Process.Pid, fmt.Sprint(ends))
	_, err = Connected(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
}
