package tlslink

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Secret is known to the agents of one job alone. Printing it, with any verb, does not
// show it.
type Secret [32]byte

// encodedLen is the length of a secret as it travels: hex digits and a newline.
const encodedLen = 2*len(Secret{}) + 1

// NewSecret makes a random secret.
func NewSecret() Secret {
	var s Secret
	_, _ = rand.Read(s[:]) // never fails: crypto/rand ends the process instead
	return s
}

// Reader returns the secret in the form that ReadSecret reads: bootstrap.Bulk hands it
// to each agent.
func (s Secret) Reader() io.Reader {
	return bytes.NewReader(append(hex.AppendEncode(nil, s[:]), '\n'))
}

// Format implements fmt.Formatter without telling the secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(secret)") }

// ReadSecret reads one secret, 64 hex digits and a newline, and not a byte
// beyond it.
func ReadSecret(r io.Reader) (Secret, error) {
	var s Secret
	var line [encodedLen]byte
	if n, err := io.ReadFull(r, line[:]); err != nil {
		return Secret{}, fmt.Errorf("job secret: read %d of %d bytes: %w", n, encodedLen, err)
	}
	digits, newline := line[:encodedLen-1], line[encodedLen-1]
	if _, err := hex.Decode(s[:], digits); err != nil || newline != '\n' {
		// The error of hex shows a character of what may be a secret.
		return Secret{}, fmt.Errorf("job secret: not %d hex digits and a newline", encodedLen-1)
	}
	return s, nil
}

// ReadSecretFile reads a secret from a file that must belong to this user and
// be closed to all others (mode 0600 or less).
func ReadSecretFile(path string) (Secret, error) {
	// O_NONBLOCK: opening a named pipe must not wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Secret{}, fmt.Errorf("job secret: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Secret{}, fmt.Errorf("job secret: %w", err)
	}
	var wrong []string
	if !info.Mode().IsRegular() {
		wrong = append(wrong, "is not a regular file")
	}
	if info.Mode().Perm()&0o077 != 0 {
		wrong = append(wrong, fmt.Sprintf("has mode %04o, not 0600", info.Mode().Perm()))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		wrong = append(wrong, "belongs to another user")
	}
	if len(wrong) > 0 {
		return Secret{}, fmt.Errorf("job secret: %s %s", path, strings.Join(wrong, " and "))
	}
	s, err := ReadSecret(f)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
