// Package linktest holds the common parts of tests of links: Run, the conformance suite
// that every implementation of link.Link passes; WithFaults and WithTrace, the
// decorators that break a link at a chosen frame and that record its calls; and
// FaultConn, which breaks the byte pipe below a link at a chosen byte.
//
// The suite asserts the contract of package link and nothing an implementation
// may choose: no timing, no wire format, no order between streams. It uses no
// clock; a test that would hang is cut by a guard that closes both sides.
package linktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/link"
)

// Opener makes the two connected sides of a fresh link, the parent's first. All that it
// starts must have ended when both sides are closed.
type Opener func(t testing.TB) (parent, child link.Link)

// guardTime is after how long a stuck test is cut: far beyond any test's need.
const guardTime = time.Minute

// Run tests the links that open makes against the contract of link.Link. Each
// test gets its own link and ends with a check for leaked goroutines.
func Run(t *testing.T, open Opener) {
	for _, group := range [][]testCase{orderTests, independenceTests, endTests, closeTests, loadTests} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				before := goleak.IgnoreCurrent()
				p := newPair(t, open)
				c.run(t, p)
				p.close()
				goleak.VerifyNone(t, before)
			})
		}
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, p *pair)
}

// pair is one link under test.
type pair struct {
	t             *testing.T
	parent, child link.Link
	guard         *time.Timer
}

func newPair(t *testing.T, open Opener) *pair {
	p := &pair{t: t}
	p.parent, p.child = open(t)
	p.guard = time.AfterFunc(guardTime, func() {
		t.Errorf("stuck for %v: closing both sides", guardTime)
		_ = p.parent.Close()
		_ = p.child.Close()
	})
	t.Cleanup(p.close) // a failed test returns early
	return p
}

func (p *pair) close() {
	p.guard.Stop()
	require.NoError(p.t, p.parent.Close())
	require.NoError(p.t, p.child.Close())
}

// bothWays runs do for each direction.
func (p *pair) bothWays(do func(from, to link.Link)) {
	do(p.parent, p.child)
	do(p.child, p.parent)
}

// context is done when the guard would strike.
func (p *pair) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), guardTime)
	p.t.Cleanup(cancel)
	return ctx
}

// streams lists all streams of a link.
func streams() []link.Stream {
	var all []link.Stream
	for s := range link.NumStreams {
		all = append(all, s)
	}
	return all
}

// message returns the i-th test frame of a stream: recognisable everywhere, and n bytes
// long unless its text is longer.
func message(s link.Stream, i, n int) []byte {
	text := fmt.Appendf(nil, "stream %d frame %d ", s, i)
	m := make([]byte, max(n, len(text)))
	for k := copy(m, text); k < n; k *= 2 {
		copy(m[k:], m[:k])
	}
	return m
}

// requireFrame compares frames without printing megabytes of them.
func requireFrame(t testing.TB, want, got []byte) {
	t.Helper()
	if !bytes.Equal(want, got) {
		require.Fail(t, "wrong frame", "want %d bytes %.40q, got %d bytes %.40q", len(want), want, len(got), got)
	}
}

// drained is the outcome of reading a stream to its end.
type drained struct {
	frames [][]byte
	err    error // io.EOF where the peer ended
}

// drainAll reads every stream of l to its end, one goroutine per stream.
func drainAll(l link.Link) [link.NumStreams]drained {
	var got [link.NumStreams]drained
	var wg sync.WaitGroup
	for _, s := range streams() {
		wg.Go(func() { got[s].frames, got[s].err = drain(l, s) })
	}
	wg.Wait()
	return got
}

func drain(l link.Link, s link.Stream) ([][]byte, error) {
	var frames [][]byte
	for {
		f, err := l.Recv(s)
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

// expectEOF reads every stream of l to its end and wants nothing but the end.
func expectEOF(t *testing.T, l link.Link) {
	t.Helper()
	for s, d := range drainAll(l) {
		assert.Equal(t, io.EOF, d.err, "stream %d", s)
		assert.Empty(t, d.frames, "stream %d", s)
	}
}

// expectLost reads every stream of l and wants it lost, not ended.
func expectLost(t *testing.T, l link.Link) {
	t.Helper()
	for s, d := range drainAll(l) {
		require.ErrorIs(t, d.err, link.ErrLost, "stream %d", s)
		require.NotErrorIs(t, d.err, io.EOF, "stream %d: a loss must not look like an end", s)
	}
}
