package unix

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// needPTY returns a pseudo-terminal.
func needPTY(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, terminal, err := OpenPTY()
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close(); terminal.Close() })
	return master, terminal
}

func typeEnd(t *testing.T, master *os.File) {
	t.Helper()
	require.NoError(t, onDescriptor(master, TypeEnd))
}

// The end of input comes after all that was typed, whatever mode the terminal is in when
// it is read.
func TestTypeEnd(t *testing.T) {
	master, terminal := needPTY(t)
	typeEnd(t, master)
	got, err := io.ReadAll(terminal)
	require.NoError(t, err)
	require.Empty(t, got)

	_, err = io.WriteString(master, "line\n")
	require.NoError(t, err)
	typeEnd(t, master) // waits for the reader of the line
	restore, err := Raw(terminal)
	require.NoError(t, err)
	buf := make([]byte, 16)
	n, err := terminal.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "line\n", string(buf[:n]))
	typeEnd(t, master)
	n, err = terminal.Read(buf)
	require.NoError(t, err)
	require.Equal(t, []byte{'D' & 0x1f}, buf[:n])
	restore()

	_, err = io.WriteString(master, "no newline")
	require.NoError(t, err)
	typeEnd(t, master)
	n, err = terminal.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "no newline", string(buf[:n]))
}

func TestWindow(t *testing.T) {
	master, terminal := needPTY(t)
	want := Window{Rows: 11, Columns: 222}
	require.NoError(t, onDescriptor(master, func(fd int) error { return SetWindow(fd, want) }))
	require.Equal(t, want, WindowOf(terminal))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.Zero(t, WindowOf(null))
}
