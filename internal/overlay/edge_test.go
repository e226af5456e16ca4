package overlay

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/tree"
)

// A lost edge is reported once, and not as one that came to a good end after all.
func TestALostEdgeIsReportedOnce(t *testing.T) {
	for range 20 {
		near, far := memlink.Pair()
		var events []Event
		inbox := NewInbox(func() {})
		e := NewEdge(near, tree.Up, OfParent(), inbox, nil, nil)
		require.NoError(t, far.Close())
		e.readers.Wait()
		e.reportEnd(nil) // as happens then
		events = inbox.Take(events)
		require.Len(t, events, 1)
		require.ErrorIs(t, events[0].(EdgeEnded).Err, link.ErrLost)
		e.Close()
	}
}

// A goroutine that waits for credit shares a stream with the event loop, whose
// long messages stay whole.
func TestSendWaitAmongLongMessages(t *testing.T) {
	const waits, long = 200, 3 << 20
	a, b := memlink.Pair()
	from := NewEdge(a, 0, new(Worlds).Child(false, []HostEntry{{Index: 1}}), NewInbox(func() {}), nil, func(tree.Header, []byte) {})
	defer from.Close()
	var mu sync.Mutex
	var all sync.WaitGroup
	short, longs := 0, 0
	all.Add(waits + 5)
	to := NewEdge(b, tree.Up, OfParent(), NewInbox(func() {}), nil, func(h tree.Header, body []byte) {
		defer all.Done()
		mu.Lock()
		defer mu.Unlock()
		switch h.Kind {
		case KindFile:
			assert.Equal(t, bytes.Repeat([]byte{byte(short)}, 1000), body)
			short++
		default:
			assert.Len(t, body, long)
			longs++
		}
	})
	buf := make([]byte, 1000)
	for i := range waits {
		if i%40 == 0 {
			from.Send(link.Data, tree.Header{Kind: KindRecords, Job: job.Cold, To: tree.Neighbor, From: tree.Launcher}, make([]byte, long))
		}
		for j := range buf {
			buf[j] = byte(i) // the last SendWait has let go of it
		}
		require.NoError(t, from.SendWait(link.Data, tree.Header{Kind: KindFile, Job: job.Cold, To: tree.Everyone, From: tree.Launcher}, buf))
	}
	all.Wait()
	require.Equal(t, 5, longs)
	from.Close()
	require.Error(t, from.SendWait(link.Data, tree.Header{Kind: KindFile, Job: job.Cold}, buf), "nobody is there")
	to.Close()
}
