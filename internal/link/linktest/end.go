package linktest

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
)

// endTests: End delivers everything, from either side, in any order.
var endTests = []testCase{
	{"parent ends first", func(t *testing.T, p *pair) { testEndInTurn(t, p, p.parent, p.child) }},
	{"child ends first", func(t *testing.T, p *pair) { testEndInTurn(t, p, p.child, p.parent) }},
	{"both end at once", testEndAtOnce},
	{"nothing is lost before END", testNothingLost},
	{"end waits for the reader", testEndWaits},
	{"end with a full stream", testEndFull},
	{"end cancelled beforehand", testEndCancelled},
}

func testEndInTurn(t *testing.T, p *pair, first, second link.Link) {
	ended := make(chan error, 1)
	for _, s := range streams() {
		require.NoError(t, first.Send(s, message(s, 0, 0)))
	}
	go func() { ended <- first.End(p.context()) }()
	for s, d := range drainAll(second) {
		require.Equal(t, io.EOF, d.err)
		require.Equal(t, [][]byte{message(link.Stream(s), 0, 0)}, d.frames)
	}
	require.NoError(t, <-ended)
	require.ErrorIs(t, first.Send(link.Data, nil), link.ErrClosed, "nothing is sent after End")
	require.NoError(t, first.End(p.context()), "a second End reports the same")

	// The other direction goes on.
	for _, s := range streams() {
		require.NoError(t, second.Send(s, message(s, 1, 0)))
		f, err := first.Recv(s)
		require.NoError(t, err)
		require.Equal(t, message(s, 1, 0), f)
	}
	go func() { ended <- second.End(p.context()) }()
	expectEOF(t, first)
	require.NoError(t, <-ended)
	expectEOF(t, second) // io.EOF stays
}

func testEndAtOnce(t *testing.T, p *pair) {
	var wg sync.WaitGroup
	for _, l := range []link.Link{p.parent, p.child} {
		wg.Go(func() { expectEOF(t, l) })
		wg.Go(func() { assert.NoError(t, l.End(p.context())) })
	}
	wg.Wait()
	// Both at once, too: neither may take the other's close for a loss.
	wg.Go(func() { assert.NoError(t, p.parent.Close()) })
	wg.Go(func() { assert.NoError(t, p.child.Close()) })
	wg.Wait()
}

// testNothingLost ends and closes right behind 200 KiB, which a multiplexer
// that is merely closed would cut short.
func testNothingLost(t *testing.T, p *pair) {
	const n, size = 200, 1 << 10
	received := make(chan [link.NumStreams]drained, 1)
	go func() {
		received <- drainAll(p.child)
	}()
	childEnded := make(chan error, 1)
	go func() { childEnded <- p.child.End(p.context()) }()
	for i := range n {
		require.NoError(t, p.parent.Send(link.Stdio, message(link.Stdio, i, size)))
	}
	require.NoError(t, p.parent.End(p.context()))
	expectEOF(t, p.parent)
	require.NoError(t, p.parent.Close())

	got := <-received
	require.NoError(t, <-childEnded, "the parent's close must not overtake its acknowledgement")
	for s, d := range got {
		require.Equal(t, io.EOF, d.err, "stream %d", s)
	}
	require.Len(t, got[link.Stdio].frames, n)
	for i, f := range got[link.Stdio].frames {
		requireFrame(t, message(link.Stdio, i, size), f)
	}
}

// testEndWaits: End means received, not sent.
func testEndWaits(t *testing.T, p *pair) {
	p.bothWays(func(from, to link.Link) {
		require.NoError(t, from.Send(link.Service, []byte("unread")))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- from.End(ctx) }()
		for _, s := range streams() {
			if s == link.Service {
				continue
			}
			_, err := to.Recv(s)
			require.Equal(t, io.EOF, err, "stream %d: END does not wait for other streams", s)
		}
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, "one stream is unread")
		go func() { ended <- from.End(p.context()) }()
		got, err := drain(to, link.Service)
		require.Equal(t, io.EOF, err)
		require.Equal(t, [][]byte{[]byte("unread")}, got)
		require.NoError(t, <-ended)
	})
}

// testEndFull: END follows frames for which the peer has had no room yet.
func testEndFull(t *testing.T, p *pair) {
	const n, size = 15, 64 << 10 // below what may be under way, so that Send returns
	for i := range n {
		require.NoError(t, p.parent.Send(link.Data, message(link.Data, i, size)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.parent.End(ctx), context.Canceled)
	ended := make(chan error, 1)
	go func() { ended <- p.parent.End(p.context()) }()
	got := drainAll(p.child)
	require.NoError(t, <-ended)
	require.Len(t, got[link.Data].frames, n)
}

func testEndCancelled(t *testing.T, p *pair) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, p.parent.End(ctx), context.Canceled)
	require.ErrorIs(t, p.parent.Send(link.Control, nil), link.ErrClosed, "End began")
	expectEOF(t, p.child)
	require.NoError(t, p.parent.End(p.context()))
}
