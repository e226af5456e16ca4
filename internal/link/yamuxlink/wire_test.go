package yamuxlink

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// writes records each write of a connection.
type writes struct {
	io.ReadCloser
	all [][]byte
}

func (w *writes) Write(p []byte) (int, error) {
	w.all = append(w.all, bytes.Clone(p))
	return len(p), nil
}

func TestWireJoinsHeaderAndBody(t *testing.T) {
	header := func(kind byte, n uint32) []byte {
		return []byte{0, kind, 0, 0, 0, 0, 0, 1, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	}
	conn := &writes{}
	w := newWire(conn)
	write := func(p []byte) {
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
	}
	// A window update stands alone though its length field is not 0.
	write(header(1, 1000))
	// A short body joins its header, even one that looks like a header.
	body := header(muxTypeData, 7)
	write(header(muxTypeData, uint32(len(body))))
	write(body)
	// A long body joins as far as there is room.
	long := bytes.Repeat([]byte("x"), maxJoined+100)
	write(header(muxTypeData, uint32(len(long))))
	write(long)
	// A header without body stands alone.
	write(header(muxTypeData, 0))

	require.Equal(t, [][]byte{
		header(1, 1000),
		append(header(muxTypeData, uint32(len(body))), body...),
		append(header(muxTypeData, uint32(len(long))), long[:maxJoined-muxHeader]...),
		long[maxJoined-muxHeader:],
		header(muxTypeData, 0),
	}, conn.all)
	require.Equal(t, uint64(5), w.begun.Load())
	require.Equal(t, uint64(5), w.written.Load())
}

// eofWriter is a pipe that answers a write with the end of its peer.
type eofWriter struct{ io.ReadCloser }

func (eofWriter) Write([]byte) (int, error) { return 0, io.EOF }

// A write that fails with io.EOF must not be taken for the end of a stream.
func TestWireNamesTheEndOfAPeer(t *testing.T) {
	w := newWire(eofWriter{io.NopCloser(bytes.NewReader(nil))})
	_, err := io.ReadAll(w)
	require.NoError(t, err)
	_, err = w.Write([]byte("x"))
	require.ErrorIs(t, err, errNoEnd)
	require.NotErrorIs(t, err, io.EOF)
}

// A failed write waits until what the peer had said is read.
func TestWireReadsOutBeforeAFailedWriteReturns(t *testing.T) {
	near, far := net.Pipe()
	require.NoError(t, near.Close())
	w := newWire(struct {
		io.Reader
		io.WriteCloser
	}{far, near})
	failed := make(chan error, 1)
	go func() {
		_, err := w.Write([]byte("x"))
		failed <- err
	}()
	_, err := io.ReadAll(w)
	require.NoError(t, err)
	require.ErrorIs(t, <-failed, io.ErrClosedPipe)
}
