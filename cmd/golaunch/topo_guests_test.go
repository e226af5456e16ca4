package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// hungUp is a connection that was closed or not.
type hungUp struct {
	net.Conn
	closed bool
}

func (h *hungUp) Close() error {
	h.closed = true
	return nil
}

// A user who takes all places keeps none of the others out, and gets no more of them;
// the one that goes has been silent for longest.
func TestGuestsOfManyUsers(t *testing.T) {
	const crowd, other = 65534, 1000
	g := newGuests(4)
	var ends []*hungUp
	come := func(uid int) *guest {
		require.True(t, g.room(uid))
		end := &hungUp{}
		ends = append(ends, end)
		return g.enter(uid, end)
	}
	closed := func(i int) bool { return ends[i].closed }
	first := come(crowd)
	for range 3 {
		come(crowd)
	}
	require.False(t, g.room(crowd))
	g.hears(first)
	honest := come(other)
	require.Equal(t, []bool{false, true, false, false, false}, []bool{closed(0), closed(1), closed(2), closed(3), closed(4)})
	require.False(t, g.room(crowd), "the other has fewer")
	g.leave(honest)
	come(crowd)
	require.Equal(t, 4, g.n)
	come(other)
	come(other)
	require.False(t, g.room(other), "each has as many")
	require.False(t, closed(0), "it has spoken")
	require.Equal(t, 4, g.n)
}
