package linktest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
)

// independenceTests: a stream that nobody reads holds up no other, Control holds up
// nobody, and bytes under way are bounded.
var independenceTests = []testCase{
	{"parent's data unread", func(t *testing.T, p *pair) { testStalled(t, p, p.parent, p.child, link.Data) }},
	{"parent's stdio unread", func(t *testing.T, p *pair) { testStalled(t, p, p.parent, p.child, link.Stdio) }},
	{"child's kvs unread", func(t *testing.T, p *pair) { testStalled(t, p, p.child, p.parent, link.KVS) }},
	{"child's service unread", func(t *testing.T, p *pair) { testStalled(t, p, p.child, p.parent, link.Service) }},
	{"all but control stalled", testAllStalled},
	{"control never waits", testControlNeverWaits},
}

const (
	inFlight   = 1 << 20  // bytes under way per stream and direction
	pumpFrame  = 32 << 10 // bytes per frame of a pump
	stallAfter = 8        // frames any link takes unread: 256 KiB
)

// framePump sends frames on s until Send fails, which closing its link makes it do.
type framePump struct {
	stalled chan struct{} // closed once stallAfter frames were taken
	sent    atomic.Int64
	err     error // why it ended; valid after wait
	wg      sync.WaitGroup
}

func startPump(l link.Link, s link.Stream) *framePump {
	p := &framePump{stalled: make(chan struct{})}
	p.wg.Go(func() {
		for i := 0; ; i++ {
			if i == stallAfter {
				close(p.stalled)
			}
			if p.err = l.Send(s, message(s, i, pumpFrame)); p.err != nil {
				if i < stallAfter {
					close(p.stalled)
				}
				return
			}
			p.sent.Add(1)
		}
	})
	return p
}

func (p *framePump) wait() error {
	p.wg.Wait()
	return p.err
}

// stallable are the streams that a reader may leave unread; Control always is.
var stallable = []link.Stream{link.KVS, link.Data, link.Stdio, link.Service}

// testStalled leaves one stream of from unread by to.
func testStalled(t *testing.T, p *pair, from, to link.Link, unread link.Stream) {
	pump := startPump(from, unread)
	<-pump.stalled
	for _, s := range streams() {
		for i := range 20 {
			if s != unread {
				exchange(t, from, to, s, i)
			}
		}
	}
	require.LessOrEqual(t, pump.sent.Load()*pumpFrame, int64(inFlight), "more is under way than may be")

	// Waiting frames arrive in order once somebody reads.
	for i := range 100 {
		f, err := to.Recv(unread)
		require.NoError(t, err)
		requireFrame(t, message(unread, i, pumpFrame), f)
	}
	p.close()
	require.Error(t, pump.wait(), "a pump ends with its link")
}

// testAllStalled leaves everything but Control unread, both ways.
func testAllStalled(t *testing.T, p *pair) {
	var pumps []*framePump
	p.bothWays(func(from, _ link.Link) {
		for _, s := range stallable {
			pumps = append(pumps, startPump(from, s))
		}
	})
	for _, pump := range pumps {
		<-pump.stalled
	}
	for i := range 100 {
		exchange(t, p.parent, p.child, link.Control, i)
	}
	p.close()
	for _, pump := range pumps {
		require.Error(t, pump.wait())
	}
}

// exchange sends one frame each way on s.
func exchange(t *testing.T, a, b link.Link, s link.Stream, i int) {
	t.Helper()
	ping, pong := fmt.Sprint("ping ", i), fmt.Sprint("pong ", i)
	require.NoError(t, a.Send(s, []byte(ping)))
	f, err := b.Recv(s)
	require.NoError(t, err)
	require.Equal(t, ping, string(f))
	require.NoError(t, b.Send(s, []byte(pong)))
	f, err = a.Recv(s)
	require.NoError(t, err)
	require.Equal(t, pong, string(f))
}

func testControlNeverWaits(t *testing.T, p *pair) {
	const n = 4 * inFlight / link.MaxControlFrame
	p.bothWays(func(from, to link.Link) {
		for i := range n { // nobody receives: a Send that waited would hang
			require.NoError(t, from.Send(link.Control, message(link.Control, i, link.MaxControlFrame)))
		}
		for i := range n {
			f, err := to.Recv(link.Control)
			require.NoError(t, err)
			requireFrame(t, message(link.Control, i, link.MaxControlFrame), f)
		}
	})
}
