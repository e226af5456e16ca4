package tlslink_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link/tlslink"
)

func TestSecretTravels(t *testing.T) {
	secret := tlslink.NewSecret()
	require.NotEqual(t, secret, tlslink.NewSecret())
	rest := strings.NewReader("what follows")
	got, err := tlslink.ReadSecret(io.MultiReader(secret.Reader(), rest))
	require.NoError(t, err)
	require.True(t, secret == got)
	require.Equal(t, len("what follows"), rest.Len(), "not a byte beyond the secret is read")
}

func TestReadSecretRefuses(t *testing.T) {
	digits := strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"":                             "read 0 of 65 bytes",
		digits:                         "read 64 of 65 bytes",
		digits + "c":                   "not 64 hex digits and a newline",
		"-" + digits[1:] + "\n":        "not 64 hex digits and a newline",
		strings.Repeat("\n", 65):       "not 64 hex digits and a newline",
		strings.Repeat("secret!", 100): "not 64 hex digits and a newline",
	} {
		got, err := tlslink.ReadSecret(strings.NewReader(text))
		require.ErrorContains(t, err, want)
		require.Zero(t, got)
		require.NotContains(t, err.Error(), "secret!")
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	secret := tlslink.NewSecret()
	plain := hex.EncodeToString(secret[:])
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{secret, &secret, struct{ S tlslink.Secret }{secret}} {
			out := fmt.Sprintf(verb, value)
			require.Contains(t, out, "(secret)")
			require.NotContains(t, strings.ToLower(out), plain[:8])
		}
	}
}

func TestReadSecretFile(t *testing.T) {
	secret := tlslink.NewSecret()
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	text, err := io.ReadAll(secret.Reader())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	got, err := tlslink.ReadSecretFile(path)
	require.NoError(t, err)
	require.True(t, secret == got)

	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o666} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = tlslink.ReadSecretFile(path)
		require.EqualError(t, err, fmt.Sprintf("job secret: %s has mode %04o, not 0600", path, mode))
	}
	_, err = tlslink.ReadSecretFile(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = tlslink.ReadSecretFile(dir)
	require.ErrorContains(t, err, "is not a regular file")
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	_, err = tlslink.ReadSecretFile(fifo) // and does not wait for a writer
	require.ErrorContains(t, err, "is not a regular file")

	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file away")
		}
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.Chown(path, 12345, -1))
		_, err = tlslink.ReadSecretFile(path)
		require.ErrorContains(t, err, "belongs to another user")
	})
}

func FuzzReadSecret(f *testing.F) {
	f.Add([]byte(strings.Repeat("0f", 32) + "\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		secret, err := tlslink.ReadSecret(strings.NewReader(string(data)))
		if err != nil {
			require.Zero(t, secret)
			return
		}
		again, err := io.ReadAll(secret.Reader())
		require.NoError(t, err)
		require.Equal(t, strings.ToLower(string(data[:65])), string(again))
	})
}
