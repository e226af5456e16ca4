package memlink_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/linktest"
	"github.com/golaunch/golaunch/internal/link/memlink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	linktest.Run(t, func(testing.TB) (link.Link, link.Link) { return memlink.Pair() })
}

// In a bubble every wait of a link is durable, so that fake time passes.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memlink.Pair()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended, received, filled := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { ended <- a.End(ctx) }()                          // waits for the reader
		go func() { _, err := a.Recv(link.Data); received <- err }() // waits for a frame
		go func() { filled <- fill(b) }()                            // waits for room
		start := time.Now()
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		require.Equal(t, time.Hour, time.Since(start))
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-received, link.ErrClosed)
		require.ErrorIs(t, <-filled, link.ErrLost)
		require.NoError(t, b.Close())
	})
}

// fill sends on KVS until it fails.
func fill(l link.Link) error {
	for {
		if err := l.Send(link.KVS, make([]byte, 64<<10)); err != nil {
			return err
		}
	}
}

func TestUnreadControlIsALoss(t *testing.T) {
	a, b := memlink.Pair()
	frame := make([]byte, link.MaxControlFrame)
	var err error
	for n := 0; err == nil; n++ {
		require.Less(t, n, 1000, "the backlog is bounded")
		err = a.Send(link.Control, frame)
	}
	require.ErrorIs(t, err, link.ErrLost)
	require.ErrorContains(t, err, "16 MiB of control frames were left unread")
	_, err = b.Recv(link.Data)
	require.ErrorIs(t, err, link.ErrLost, "the peer learns it, too")
	require.ErrorIs(t, a.Send(link.Stdio, nil), link.ErrLost)
	require.ErrorIs(t, b.End(t.Context()), link.ErrLost)
}

func TestIdlePairIsSmall(t *testing.T) {
	const pairs = 2000
	links := make([]link.Link, 0, 2*pairs)
	before := heap()
	for range pairs {
		a, b := memlink.Pair()
		links = append(links, a, b)
	}
	perPair := (heap() - before) / pairs
	t.Logf("%d bytes per idle pair", perPair)
	require.Less(t, perPair, int64(4<<10))
	runtime.KeepAlive(links)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkPingPong64(b *testing.B) {
	parent, child := memlink.Pair()
	defer parent.Close()
	go func() {
		for {
			f, err := child.Recv(link.Data)
			if err != nil {
				return
			}
			if child.Send(link.Data, f) != nil {
				return
			}
		}
	}()
	frame := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := parent.Send(link.Data, frame); err != nil {
			b.Fatal(err)
		}
		if _, err := parent.Recv(link.Data); err != nil {
			b.Fatal(err)
		}
	}
}
