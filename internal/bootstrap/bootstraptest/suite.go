// Package bootstraptest holds the one conformance suite that every
// bootstrap.Piper passes, a Bulk that starts processes on this machine, and an
// OpenSSH server for tests that need a real one.
//
// Not here: faults of a particular bootstrap (a server that resets, a wrong
// host key); those are tested beside their implementation.
package bootstraptest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// patience bounds every wait of the suite.
const patience = 2 * time.Minute

// Run checks that p starts commands on host as bootstrap.Piper and
// bootstrap.Pipe promise. The host must share this machine's file system and
// have a POSIX /bin/sh.
func Run(t *testing.T, p bootstrap.Piper, host bootstrap.Host) {
	s := suite{p, host}
	t.Run("bytes arrive unchanged both ways", s.echo)
	t.Run("words arrive verbatim", s.words)
	t.Run("end of the command is end of file", s.exit)
	t.Run("diagnostics hold the end of stderr", s.diagnostics)
	t.Run("a missing command is an error", s.missing)
	t.Run("no command is an error", s.empty)
	t.Run("close ends the command's input", s.closeIsEOF)
	t.Run("close waits for nobody and unblocks", s.closePrompt)
	t.Run("a cancelled context starts nothing", s.cancelled)
	t.Run("a context cancelled later spares the pipe", s.cancelledLater)
	t.Run("32 at once", s.many)
}

type suite struct {
	piper bootstrap.Piper
	host  bootstrap.Host
}

func (s suite) start(t *testing.T, argv ...string) bootstrap.Pipe {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := s.piper.Start(ctx, s.host, argv)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (s suite) echo(t *testing.T) {
	p := s.start(t, "cat")
	want := make([]byte, 1<<20)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(want)
	sent := make(chan error, 1)
	go func() { // ends when all is written or the pipe is closed
		_, err := p.Write(want)
		sent <- err
	}()
	got := make([]byte, len(want))
	_, err := io.ReadFull(p, got)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.True(t, bytes.Equal(want, got), "bytes differ")
}

// NastyWords returns words that some shell or other would change.
func NastyWords() []string {
	return []string{
		"", "plain", "two words", " lead and trail ", "tab\there", "line\nfeed", "\n", "cr\rlf\r\n", "'", "''", "it's",
		`"`, `a"b`, "$HOME", "${X}", "$(echo no)", "`echo no`", "*", "?", "[a-z]", "~", "~root", "a=b", "=ls", "#c",
		`\`, `\\`, `\n`, `\'`, `a\`, `'\''`, "!", "!!", "a!b", "wow!'", `\!`, "<>", "a;b", "a&b|c", "(x)", "{a,b}", "%1", "@", "^", "-n", "--",
		"\x01\x7f", "naïve ☃", "\xff\xfe", "\\\n", "!\n'",
	}
}

func (s suite) words(t *testing.T) {
	words := NastyWords()
	script := `for w in "$@"; do printf "%s." "${#w}"; printf "%s" "$w"; printf ";"; done`
	p := s.start(t, append([]string{"env", "LC_ALL=C", "/bin/sh", "-c", script, "sh"}, words...)...)
	got, err := io.ReadAll(p)
	require.NoError(t, err)
	var want strings.Builder
	for _, w := range words {
		fmt.Fprintf(&want, "%d.%s;", len(w), w)
	}
	require.Equal(t, want.String(), string(got))
}

func (s suite) exit(t *testing.T) {
	p := s.start(t, "/bin/sh", "-c", "echo bye; exit 3")
	got, err := io.ReadAll(p)
	require.NoError(t, err, "an exit code is not a read error")
	require.Equal(t, "bye\n", string(got))
	require.Eventually(t, func() bool {
		_, err := p.Write([]byte("x"))
		return err != nil
	}, patience, time.Millisecond, "a write to a command that has ended must fail")
}

func (s suite) diagnostics(t *testing.T) {
	p := s.start(t, "/bin/sh", "-c", `i=0; while [ $i -lt 1000 ]; do echo "line $i" >&2; i=$((i+1)); done; echo last words >&2`)
	_, err := io.ReadAll(p)
	require.NoError(t, err)
	text := p.Diagnostics()
	assert.True(t, strings.HasSuffix(text, "line 999\nlast words\n"), "got %q", text)
	assert.LessOrEqual(t, len(text), bootstrap.TailSize)
}

func (s suite) missing(t *testing.T) {
	p, err := s.piper.Start(t.Context(), s.host, []string{"/no/such/command"})
	if err != nil {
		_ = requireError(t, err, s.host)
		return
	}
	defer p.Close()
	got, err := io.ReadAll(p)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Contains(t, p.Diagnostics(), "/no/such/command")
}

func (s suite) empty(t *testing.T) {
	for _, argv := range [][]string{nil, {""}} {
		_, err := s.piper.Start(t.Context(), s.host, argv)
		require.True(t, requireError(t, err, s.host).Permanent)
	}
}

func (s suite) closeIsEOF(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	p := s.start(t, "/bin/sh", "-c", `echo ready; cat >/dev/null; echo done > "$0"`, mark)
	require.Equal(t, "ready\n", readLine(t, p))
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}, patience, 5*time.Millisecond, "the command saw no end of input")
}

func (s suite) closePrompt(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	p := s.start(t, "/bin/sh", "-c", `echo ready; read x <"$0"`, fifo) // ends when the fifo is written to
	require.Equal(t, "ready\n", readLine(t, p))
	var wg sync.WaitGroup
	wg.Go(func() { // ends when Close fails the write that nobody reads
		block := make([]byte, 256<<10)
		for {
			if _, err := p.Write(block); err != nil {
				return
			}
		}
	})
	wg.Go(func() { _, _ = io.Copy(io.Discard, p) }) // ends when Close fails the read
	closed := make(chan struct{})
	go func() { // ends when Close does
		defer close(closed)
		assert.NoError(t, p.Close())
		wg.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		require.Fail(t, "Close waits for the command")
	}
	// Unless Close has killed the command, it ends now.
	if end, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		require.NoError(t, end.Close())
	}
	require.NoError(t, p.Close(), "closing twice is harmless")
	_, err := p.Read(make([]byte, 1))
	require.Error(t, err)
}

func (s suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.piper.Start(ctx, s.host, []string{"cat"})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, requireError(t, err, s.host).Permanent)
}

func (s suite) cancelledLater(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := s.piper.Start(ctx, s.host, []string{"cat"})
	require.NoError(t, err)
	defer p.Close()
	cancel()
	_, err = p.Write([]byte("still here\n"))
	require.NoError(t, err)
	require.Equal(t, "still here\n", readLine(t, p))
}

func (s suite) many(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { // ends with its command
			word := fmt.Sprintf("number %d", i)
			p, err := s.piper.Start(ctx, s.host, []string{"/bin/sh", "-c", `cat; echo "$0"`, word})
			if !assert.NoError(t, err) {
				return
			}
			defer p.Close()
			_, err = io.WriteString(p, word+"\n")
			assert.NoError(t, err)
			assert.Equal(t, word+"\n", readLine(t, p))
		})
	}
	wg.Wait()
}

// requireError checks the type of a Piper's error and returns it.
func requireError(t *testing.T, err error, host bootstrap.Host) *bootstrap.Error {
	t.Helper()
	var e *bootstrap.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, host.Name, e.Host)
	require.NotEmpty(t, e.Phase)
	return e
}

// readLine reads up to and with the next line feed, byte by byte, so that it
// takes nothing that follows.
func readLine(t *testing.T, r io.Reader) string {
	t.Helper()
	var line []byte
	b := make([]byte, 1)
	for {
		n, err := r.Read(b)
		line = append(line, b[:n]...)
		if n == 1 && b[0] == '\n' {
			return string(line)
		}
		if err != nil {
			assert.Fail(t, "pipe ended", "after %q: %v", line, err)
			return string(line)
		}
	}
}
