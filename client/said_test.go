package client

import (
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/record"
)

// heard returns the agent's end of a rank's connection, of which the rank is welcomed
// as number 0 of 2.
func heard(t *testing.T) (*Client, net.Conn) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	for _, fd := range pair {
		t.Cleanup(func() { syscall.Close(fd) })
	}
	t.Setenv("GOLAUNCH_FD", strconv.Itoa(pair[1]))
	t.Setenv("PMI_RANK", "0")
	type opened struct {
		c   *Client
		err error
	}
	ready := make(chan opened)
	go func() { // ends with Open
		c, err := Open(t.Context())
		ready <- opened{c, err}
	}()
	buf, oob := make([]byte, 256), make([]byte, 64)
	_, n, _, _, err := syscall.Recvmsg(pair[0], buf, oob, 0)
	require.NoError(t, err)
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	require.NoError(t, err)
	fds, err := syscall.ParseUnixRights(&messages[0])
	require.NoError(t, err)
	f := os.NewFile(uintptr(fds[0]), "agent")
	conn, err := net.FileConn(f)
	require.NoError(t, err)
	f.Close()
	t.Cleanup(func() { conn.Close() })
	_, err = conn.Write(record.AppendFrame(nil, &record.Record{Kind: record.Welcome, Size: 2, Count: 1}))
	require.NoError(t, err)
	o := <-ready
	require.NoError(t, o.err)
	t.Cleanup(func() { o.c.Close() })
	return o.c, conn
}

// TestWhatIsDoneIsSaid ends a rank without a goodbye once Wait has returned: its
// agent has all that the operations needed of it, more than the socket holds.
func TestWhatIsDoneIsSaid(t *testing.T) {
	c, agent := heard(t)
	const operations = record.SyncEvery - 1
	got := make(chan []byte)
	go func() { // ends with the connection
		b, _ := io.ReadAll(agent)
		got <- b
	}()
	var all []*Request
	for range operations {
		all = append(all, StartBcast(c.World(), 0, make([]byte, record.Chunk)))
	}
	for _, r := range all {
		require.NoError(t, r.Wait(t.Context()))
	}
	require.NoError(t, c.conn.Close())
	data := 0
	for b := <-got; len(b) > 0; {
		raw, rest, err := record.Frame(b)
		require.NoError(t, err)
		if raw == nil {
			break
		}
		var r record.Record
		_, err = record.Parse(raw, &r)
		require.NoError(t, err)
		data += len(r.Body)
		b = rest
	}
	require.Equal(t, operations*record.Chunk, data)
}

// TestWhatIsNotSaidIsNotDone has the agent go while it has not read all that an
// operation says.
func TestWhatIsNotSaidIsNotDone(t *testing.T) {
	c, agent := heard(t)
	var all []*Request
	for range record.SyncEvery - 1 { // together more than the socket holds
		all = append(all, StartBcast(c.World(), 0, make([]byte, record.Chunk)))
	}
	require.NoError(t, agent.Close())
	require.EqualError(t, all[len(all)-1].Wait(t.Context()), "the agent has closed the connection")
}
