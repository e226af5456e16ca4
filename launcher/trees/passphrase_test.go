package trees

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	ownunix "github.com/golaunch/golaunch/internal/unix"
)

// modes returns the modes of a terminal.
func modes(t *testing.T, tty *os.File) unix.Termios {
	m, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *m
}

// A passphrase is asked for once, is not shown, and leaves the terminal as it was,
// whatever ends the question.
func TestPassphrase(t *testing.T) {
	user, tty, err := ownunix.OpenPTY()
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	defer user.Close()
	defer tty.Close()
	name := tty.Name()
	open := func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0) }
	look, err := open()
	require.NoError(t, err)
	defer look.Close()
	before := modes(t, look)
	sees := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(user, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	p := NewPassphrases()
	p.open = open
	type answer struct {
		word []byte
		err  error
	}
	asked := func(ctx context.Context, again bool) <-chan answer {
		c := make(chan answer, 1)
		go func() { // ends with the answer
			word, err := p.get(ctx, "key", again)
			c <- answer{word, err}
		}()
		return c
	}
	typed := func(keys string) {
		_, err := io.WriteString(user, keys)
		require.NoError(t, err)
	}
	const prompt = "golaunch: passphrase for key: "

	c := asked(t.Context(), false)
	sees(prompt)
	typed("xx\x15sex\x7fcret\r")
	require.Equal(t, answer{word: []byte("secret")}, <-c)
	sees("\r\n")
	require.Equal(t, before, modes(t, look))
	require.Equal(t, answer{word: []byte("secret")}, <-asked(t.Context(), false), "nobody is asked twice")

	c = asked(t.Context(), true)
	sees("golaunch: that is not its passphrase\r\n" + prompt)
	require.NoError(t, unix.Kill(os.Getpid(), unix.SIGINT)) // the key's, in a session of its own: integration/e2e
	require.ErrorIs(t, (<-c).err, ErrInterrupted)
	sees("\r\n")
	require.Equal(t, before, modes(t, look))

	ctx, cancel := context.WithCancel(t.Context())
	c = asked(ctx, true)
	sees("golaunch: that is not its passphrase\r\n" + prompt)
	cancel()
	require.ErrorIs(t, (<-c).err, context.Canceled)
	sees("\r\n")
	require.Equal(t, before, modes(t, look))
	_, err = p.get(ctx, "other key", false)
	require.ErrorIs(t, err, context.Canceled)
	c = asked(t.Context(), true)
	sees("golaunch: that is not its passphrase\r\n" + prompt) // and nothing of the other key
	typed("\r")
	require.Empty(t, (<-c).word)

	p.late = true
	require.ErrorIs(t, (<-asked(t.Context(), true)).err, errLate)
	p.late, p.open = false, func() (*os.File, error) { return os.Open(os.DevNull) }
	require.ErrorIs(t, (<-asked(t.Context(), true)).err, errNoTerminal)
}
