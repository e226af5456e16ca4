package fifo_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/internal/fifo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A queue under any sequence of calls is a list of frames with a limit.
func TestQueueIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4 << 10
		var q fifo.Queue
		q.Init(limit)
		var oracle [][]byte
		charged := 0
		t.Repeat(map[string]func(*rapid.T){
			"offer": func(t *rapid.T) {
				f := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "frame")
				err := q.Offer(slices.Clone(f))
				if charged > 0 && charged+len(f)+fifo.Overhead > limit {
					require.ErrorIs(t, err, fifo.ErrFull)
					return
				}
				require.NoError(t, err)
				oracle, charged = append(oracle, f), charged+len(f)+fifo.Overhead
			},
			"get": func(t *rapid.T) {
				if len(oracle) == 0 {
					t.Skip("nothing queued")
				}
				f, err := q.Get()
				require.NoError(t, err)
				require.True(t, slices.Equal(oracle[0], f), "want %x, got %x", oracle[0], f)
				oracle, charged = oracle[1:], charged-len(f)-fifo.Overhead
			},
		})
		q.End()
		for _, want := range oracle {
			f, err := q.Get()
			require.NoError(t, err)
			require.True(t, slices.Equal(want, f))
		}
		_, err := q.Get()
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestLongRunStaysOrdered(t *testing.T) {
	var q fifo.Queue
	q.Init(1 << 20)
	next := 0
	for i := range 5000 {
		require.NoError(t, q.Put([]byte{byte(i), byte(i >> 8)}))
		if i%3 != 0 { // the backlog grows, so that the queue has to compact
			f, err := q.Get()
			require.NoError(t, err)
			require.Equal(t, []byte{byte(next), byte(next >> 8)}, f)
			next++
		}
	}
}

func TestPutWaitsForRoomAndWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q fifo.Queue
		q.Init(1000)
		require.NoError(t, q.Put(make([]byte, 2000)), "an empty queue takes a frame beyond its limit")
		done := make(chan error, 1)
		go func() { done <- q.Put([]byte("x")) }()
		synctest.Wait()
		require.Empty(t, done, "the second frame waits")
		f, err := q.Get()
		require.NoError(t, err)
		require.Len(t, f, 2000)
		require.NoError(t, <-done)
	})
}

func TestFail(t *testing.T) {
	lost := errors.New("lost")
	t.Run("a loss lets the reader drain first", func(t *testing.T) {
		var q fifo.Queue
		q.Init(1000)
		require.NoError(t, q.Put([]byte("last")))
		q.Fail(link.ErrClosed, lost)
		require.ErrorIs(t, q.Put(nil), link.ErrClosed)
		require.ErrorIs(t, q.Offer(nil), link.ErrClosed)
		f, err := q.Get()
		require.NoError(t, err)
		require.Equal(t, "last", string(f))
		_, err = q.Get()
		require.ErrorIs(t, err, lost)
	})
	t.Run("an ended queue still ends after a loss", func(t *testing.T) {
		var q fifo.Queue
		q.Init(1000)
		q.End()
		q.Fail(nil, lost)
		_, err := q.Get()
		require.ErrorIs(t, err, io.EOF)
	})
	t.Run("the reader's own close discards and outranks", func(t *testing.T) {
		var q fifo.Queue
		q.Init(1000)
		require.NoError(t, q.Put([]byte("unread")))
		q.Fail(lost, lost)
		q.Fail(nil, link.ErrClosed)
		q.Fail(nil, lost)
		q.End()
		_, err := q.Get()
		require.ErrorIs(t, err, link.ErrClosed)
		require.ErrorIs(t, q.Put(nil), lost)
	})
	t.Run("no end comes from a writer that failed", func(t *testing.T) {
		var q fifo.Queue
		q.Init(1000)
		q.Fail(link.ErrClosed, lost)
		q.End()
		_, err := q.Get()
		require.ErrorIs(t, err, lost)
	})
	t.Run("both sides wake", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var full, empty fifo.Queue
			full.Init(100)
			empty.Init(100)
			require.NoError(t, full.Put(make([]byte, 100)))
			errs := make(chan error, 2)
			go func() { errs <- full.Put([]byte("x")) }()
			go func() { _, err := empty.Get(); errs <- err }()
			synctest.Wait()
			full.Fail(lost, lost)
			empty.Fail(lost, lost)
			require.ErrorIs(t, <-errs, lost)
			require.ErrorIs(t, <-errs, lost)
		})
	})
}
