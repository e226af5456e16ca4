package files

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A named pipe that nobody writes is named, and later text is read.
func TestNamedPipeIsWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	said, w := io.Pipe()
	go func() {
		line, err := bufio.NewReader(said).ReadString('\n')
		assert.NoError(t, err)
		assert.Equal(t, "golaunch: still reading "+pipe+", a named pipe, into which something has to write\n", line)
		assert.NoError(t, os.WriteFile(pipe, []byte("n1\n"), 0o600))
	}()
	var got []byte
	require.NoError(t, readAfter(time.Millisecond, w, pipe, func(r io.Reader) (err error) {
		got, err = io.ReadAll(r)
		return err
	}))
	require.Equal(t, "n1\n", string(got))
}
