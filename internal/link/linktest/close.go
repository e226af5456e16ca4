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

// closeTests: Close is at once, for good, and a loss for a peer that was not
// told the end.
var closeTests = []testCase{
	{"close without END is a loss", testCloseLoses},
	{"close unblocks", testCloseUnblocks},
	{"close fails a pending end", testCloseFailsEnd},
	{"close repeatedly and at once", testCloseRepeated},
	{"frames before a loss are a prefix", testPrefixBeforeLoss},
	{"close after END is no loss", testCloseAfterEnd},
}

func testCloseLoses(t *testing.T, p *pair) {
	exchange(t, p.parent, p.child, link.Control, 0)
	require.NoError(t, p.parent.Close())
	expectLost(t, p.child)
	for _, s := range streams() {
		require.ErrorIs(t, p.child.Send(s, []byte("anyone?")), link.ErrLost, "stream %d", s)
		require.ErrorIs(t, p.parent.Send(s, nil), link.ErrClosed)
		_, err := p.parent.Recv(s)
		require.ErrorIs(t, err, link.ErrClosed)
	}
	require.ErrorIs(t, p.child.End(p.context()), link.ErrLost)
	require.ErrorIs(t, p.parent.End(p.context()), link.ErrClosed)
	expectLost(t, p.child) // an End after Close is not heard

	// The peer's own Close turns its loss into its own doing.
	require.NoError(t, p.child.Close())
	for _, s := range streams() {
		require.ErrorIs(t, p.child.Send(s, nil), link.ErrClosed)
		_, err := p.child.Recv(s)
		require.ErrorIs(t, err, link.ErrClosed)
	}
}

func testCloseUnblocks(t *testing.T, p *pair) {
	var pumps []*framePump
	for _, s := range []link.Stream{link.KVS, link.Data, link.Stdio, link.Service} {
		pumps = append(pumps, startPump(p.parent, s))
	}
	for _, pump := range pumps {
		<-pump.stalled
	}
	var wg sync.WaitGroup
	for _, s := range streams() {
		wg.Go(func() {
			_, err := p.parent.Recv(s)
			assert.ErrorIs(t, err, link.ErrClosed)
		})
	}
	require.NoError(t, p.parent.Close())
	for _, pump := range pumps {
		require.ErrorIs(t, pump.wait(), link.ErrClosed)
	}
	wg.Wait()
}

// testCloseFailsEnd closes one side while the other waits in End, and one that
// itself waits.
func testCloseFailsEnd(t *testing.T, p *pair) {
	parentEnd, childEnd := make(chan error, 1), make(chan error, 1)
	go func() { parentEnd <- p.parent.End(context.Background()) }()
	go func() { childEnd <- p.child.End(context.Background()) }()
	_, err := p.parent.Recv(link.Data) // the child is in End
	require.Equal(t, io.EOF, err)
	_, err = p.child.Recv(link.Data) // and the parent, too
	require.Equal(t, io.EOF, err)
	require.NoError(t, p.parent.Close())
	require.ErrorIs(t, <-parentEnd, link.ErrClosed)
	require.ErrorIs(t, <-childEnd, link.ErrLost)
}

func testCloseRepeated(t *testing.T, p *pair) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { assert.NoError(t, p.parent.Close()) })
		wg.Go(func() { assert.NoError(t, p.child.Close()) })
	}
	wg.Wait()
	require.NoError(t, p.parent.Close())
}

func testPrefixBeforeLoss(t *testing.T, p *pair) {
	p.bothWays(func(from, to link.Link) {
		const n = 50
		for i := range n {
			if err := from.Send(link.KVS, message(link.KVS, i, 100)); err != nil {
				return // second direction: the link is closed already
			}
		}
		require.NoError(t, from.Close())
		got, err := drain(to, link.KVS)
		require.ErrorIs(t, err, link.ErrLost)
		require.LessOrEqual(t, len(got), n)
		for i, f := range got {
			requireFrame(t, message(link.KVS, i, 100), f)
		}
	})
}

func testCloseAfterEnd(t *testing.T, p *pair) {
	ended := make(chan error, 1)
	go func() { ended <- p.parent.End(p.context()) }()
	expectEOF(t, p.child)
	require.NoError(t, <-ended)
	require.NoError(t, p.parent.Close())
	for _, s := range streams() { // the child saw a complete parent
		_, err := p.child.Recv(s)
		require.Equal(t, io.EOF, err)
	}
	// The child's further frames reach nobody.
	require.ErrorIs(t, p.child.End(p.context()), link.ErrLost)
}
