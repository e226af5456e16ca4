package proc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHeartbeat(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	h := heartbeat{every: time.Second}
	require.Negative(t, h.wait(at(0)), "nothing is watched before the first beat")
	require.False(t, h.lost(at(100)))

	h.beat(at(0))
	require.Equal(t, time.Second, h.wait(at(0)))
	for s := 1; s <= BeatsPerLoss; s++ {
		require.False(t, h.lost(at(s)), "tick %d", s)
		require.False(t, h.lost(at(s)), "once per tick")
	}
	h.beat(at(BeatsPerLoss))
	require.False(t, h.lost(at(1000)), "while the warden is stopped no tick passes")
	for s := 1; s < BeatsPerLoss; s++ {
		require.False(t, h.lost(at(1000+s)))
	}
	require.True(t, h.lost(at(1000+BeatsPerLoss)))

	never := heartbeat{}
	never.beat(at(0))
	require.Negative(t, never.wait(at(0)))
}

func TestSooner(t *testing.T) {
	require.Equal(t, time.Second, sooner(-1, time.Second))
	require.Equal(t, time.Second, sooner(time.Second, -1))
	require.Equal(t, time.Second, sooner(time.Minute, time.Second))
	require.Negative(t, sooner(-1, -1))
}
