package stdio

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWindow(t *testing.T) {
	w, err := NewWindow(100, 100)
	require.NoError(t, err)
	assert.Equal(t, 100, w.Room())
	require.NoError(t, w.Sent(60))
	require.ErrorContains(t, w.Sent(41), "41 bytes sent, room for 40")
	require.NoError(t, w.Sent(40))
	assert.Zero(t, w.Room())
	require.ErrorContains(t, w.Ack(101), "101 bytes acknowledged, 100 sent")
	require.NoError(t, w.Ack(30))
	assert.Equal(t, 30, w.Room())
	assert.Equal(t, int64(70), w.Unread())
	require.ErrorContains(t, w.Ack(29), "went back from 30 to 29")
	require.NoError(t, w.Ack(Ended))
	assert.True(t, w.Ended())
	assert.Zero(t, w.Room())
	assert.Zero(t, w.Unread())
	require.Error(t, w.Sent(1), "nobody is left to read")
	require.ErrorContains(t, w.Ack(100), "went back")

	_, err = NewWindow(0, 1)
	require.Error(t, err)
	_, err = NewWindow(2, 1)
	require.Error(t, err)
}

func TestWindowGrowsWithWhatIsRead(t *testing.T) {
	w, err := NewWindow(10, 35)
	require.NoError(t, err)
	for _, room := range []int{10, 20, 35, 35} {
		require.Equal(t, room, w.Room())
		require.NoError(t, w.Ack(w.acked)) // says nothing new
		require.Equal(t, room, w.Room())
		require.NoError(t, w.Sent(room))
		require.Zero(t, w.Room())
		require.NoError(t, w.Ack(w.sent))
	}
}

func TestAcks(t *testing.T) {
	a, err := NewAcks(3, 400)
	require.NoError(t, err)
	take := func(want int64, ok bool) {
		t.Helper()
		got, has := a.Take(600)
		assert.Equal(t, ok, has)
		assert.Equal(t, want, got)
	}
	take(0, false)
	require.NoError(t, a.Ack(0, 500))
	require.NoError(t, a.Ack(1, 99))
	require.NoError(t, a.Ack(2, 200))
	take(0, false) // 99 is less than a quarter
	require.NoError(t, a.Ack(1, 150))
	take(150, true)
	take(0, false)
	require.NoError(t, a.Ack(1, Ended))
	take(0, false) // 200 is 50 further
	got, ok := a.Take(200)
	assert.True(t, ok, "all that has come is read")
	assert.EqualValues(t, 200, got)
	require.NoError(t, a.Ack(2, Ended))
	take(500, true)
	require.NoError(t, a.Ack(0, Ended))
	take(Ended, true)
	take(0, false)

	require.ErrorContains(t, a.Ack(3, 1), "no reader 3 of 3")
	require.ErrorContains(t, a.Ack(2, 1), "went back")

	none, err := NewAcks(0, 400)
	require.NoError(t, err)
	got, ok = none.Take(0)
	assert.True(t, ok)
	assert.EqualValues(t, Ended, got, "nobody reads")
	_, err = NewAcks(-1, 400)
	require.Error(t, err)
}

// A launcher and a tree of agents never exceed the window at any reader, and
// never stop while every reader reads.
func TestWindowOverTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 50).Draw(t, "window")
		first := rapid.IntRange(1, size).Draw(t, "first")
		total := rapid.IntRange(0, 400).Draw(t, "total")
		// Root with two ranks of its own and a child with n.
		n := rapid.IntRange(1, 4).Draw(t, "below")
		w, err := NewWindow(first, size)
		require.NoError(t, err)
		child, err := NewAcks(n, size)
		require.NoError(t, err)
		root, err := NewAcks(3, size)
		require.NoError(t, err)
		read := make([]int64, n+2) // the last two are the root's own
		ended := make([]bool, n+2)
		sent := 0
		for !w.Ended() && (sent < total || slices.ContainsFunc(read, func(v int64) bool { return v < int64(sent) })) {
			progress := false
			if k := min(w.Room(), total-sent); k > 0 {
				k = rapid.IntRange(1, k).Draw(t, "send")
				require.NoError(t, w.Sent(k))
				sent += k
				progress = true
			}
			for i := range read {
				if ended[i] {
					continue
				}
				require.LessOrEqual(t, int64(sent)-read[i], int64(size), "reader %d is overrun", i)
				v := read[i]
				if rapid.IntRange(0, 30).Draw(t, "exit") == 0 {
					ended[i], v, read[i] = true, Ended, int64(total)
				} else if lag := int64(sent) - v; lag > 0 {
					v += rapid.Int64Range(1, lag).Draw(t, "read")
					read[i] = v
				}
				progress = true
				if i < n {
					require.NoError(t, child.Ack(i, v))
				} else {
					require.NoError(t, root.Ack(i-n, v))
				}
			}
			if v, ok := child.Take(int64(sent)); ok {
				require.NoError(t, root.Ack(2, v))
			}
			if v, ok := root.Take(int64(sent)); ok {
				require.NoError(t, w.Ack(v))
			}
			require.True(t, progress || w.Ended())
		}
	})
}

// Acks.Take is the naive minimum, thinned out.
func TestAcksMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		a, err := NewAcks(n, 8)
		require.NoError(t, err)
		naive := make([]int64, n)
		told := int64(0)
		for range 100 {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			if naive[i] != Ended {
				naive[i] += rapid.Int64Range(0, 4).Draw(t, "more")
				if rapid.IntRange(0, 15).Draw(t, "end") == 0 {
					naive[i] = Ended
				}
			}
			require.NoError(t, a.Ack(i, naive[i]))
			least := slices.Min(naive)
			received := rapid.Int64Range(0, 400).Draw(t, "received")
			got, ok := a.Take(received)
			want := least != told && (least >= received || least-told >= 2)
			require.Equal(t, want, ok)
			if ok {
				require.Equal(t, least, got)
				told = least
			}
		}
	})
}
