package linktest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
)

// orderTests: frames arrive whole, once and in order, and their memory has the owner
// that the contract names.
var orderTests = []testCase{
	{"order within each stream", testOrder},
	{"frame sizes", testSizes},
	{"refused frames", testRefused},
	{"ownership of frames", testOwnership},
}

func testOrder(t *testing.T, p *pair) {
	const n = 200
	p.bothWays(func(from, to link.Link) {
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range n { // interleaves the streams
				for _, s := range streams() {
					assert.NoError(t, from.Send(s, message(s, i, i%50)))
				}
			}
		})
		defer wg.Wait()
		for s := link.NumStreams; s > 0; s-- { // reads them one after the other
			for i := range n {
				f, err := to.Recv(s - 1)
				require.NoError(t, err)
				requireFrame(t, message(s-1, i, i%50), f)
			}
		}
	})
}

func testSizes(t *testing.T, p *pair) {
	p.bothWays(func(from, to link.Link) {
		for _, s := range streams() {
			for _, n := range []int{0, 1, 3, 4, 5, 4091, 4092, 4093, 4096, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, link.MaxFrame} {
				if n > link.MaxFrameOf(s) {
					continue
				}
				want := message(s, n, n)[:n]
				sent := make(chan error, 1)
				go func() { sent <- from.Send(s, want) }()
				f, err := to.Recv(s)
				require.NoError(t, err, "stream %d, %d bytes", s, n)
				requireFrame(t, want, f)
				require.NoError(t, <-sent)
			}
		}
	})
}

func testRefused(t *testing.T, p *pair) {
	p.bothWays(func(from, to link.Link) {
		for _, s := range streams() {
			err := from.Send(s, make([]byte, link.MaxFrameOf(s)+1))
			require.Error(t, err, "stream %d", s)
			require.NotErrorIs(t, err, link.ErrLost)
			require.NotErrorIs(t, err, link.ErrClosed)
			// The refusal left the stream as it was.
			require.NoError(t, from.Send(s, []byte("next")))
			f, err := to.Recv(s)
			require.NoError(t, err)
			require.Equal(t, "next", string(f))
		}
		for _, s := range []link.Stream{link.NumStreams, 255} {
			require.Error(t, from.Send(s, nil))
			_, err := to.Recv(s)
			require.Error(t, err)
		}
	})
}

func testOwnership(t *testing.T, p *pair) {
	p.bothWays(func(from, to link.Link) {
		for _, s := range streams() {
			buf := []byte("first")
			require.NoError(t, from.Send(s, buf))
			copy(buf, "xxxxx") // the sender may reuse it
			require.NoError(t, from.Send(s, []byte("other")))
			first, err := to.Recv(s)
			require.NoError(t, err)
			require.Equal(t, "first", string(first))
			second, err := to.Recv(s)
			require.NoError(t, err)
			_ = append(first[:0], "yyyyy"...) // the receiver owns it
			require.Equal(t, "other", string(second))
		}
	})
}
