package unix

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Only the pipe that was meant is opened.
func TestOpenAnswer(t *testing.T) {
	r, w, err := Pipe()
	require.NoError(t, err)
	defer Close(r)
	defer Close(w)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(r, &st))
	for _, fd := range []int{r, w} {
		answer, err := OpenAnswer(os.Getpid(), fd, st.Ino)
		require.NoError(t, err)
		_, err = unix.Write(answer, []byte("x"))
		require.NoError(t, err)
		Close(answer)
		_, err = Read(r, make([]byte, 2))
		require.NoError(t, err)
	}
	_, err = OpenAnswer(os.Getpid(), w, st.Ino+1)
	require.ErrorContains(t, err, "is not the pipe")
	file, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer file.Close()
	_, err = OpenAnswer(os.Getpid(), int(file.Fd()), st.Ino)
	require.ErrorContains(t, err, "is not the pipe")
	_, err = OpenAnswer(os.Getpid(), 1<<20, st.Ino)
	require.ErrorIs(t, err, os.ErrNotExist)
}
