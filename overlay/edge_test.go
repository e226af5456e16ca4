package overlay

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/tree"
)

// A goroutine that waits for credit shares a stream with the event loop, whose
// long messages stay whole.
func TestSendWaitAmongLongMessages(t *testing.T) {
	const waits, long = 200, 3 << 20
	a, b := memlink.Pair()
	from := NewEdge(a, 0, NewInbox(func() {}), nil, func(tree.Header, []byte) {})
	defer from.Close()
	var mu sync.Mutex
	var all sync.WaitGroup
	short, longs := 0, 0
	all.Add(waits + 5)
	to := NewEdge(b, 0, NewInbox(func() {}), nil, func(h tree.Header, body []byte) {
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
			from.Send(link.Data, tree.Header{Kind: KindHome, To: 1, From: 2}, make([]byte, long))
		}
		for j := range buf {
			buf[j] = byte(i) // which the last SendWait has let go of
		}
		require.NoError(t, from.SendWait(link.Data, tree.Header{Kind: KindFile, To: tree.Everyone, From: tree.Launcher}, buf))
	}
	all.Wait()
	require.Equal(t, 5, longs)
	from.Close()
	require.Error(t, from.SendWait(link.Data, tree.Header{Kind: KindFile}, buf), "nobody is there")
	to.Close()
}
