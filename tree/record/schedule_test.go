package record

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Appended schedules are read again.
func TestScheduled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ranks = 1 << 16
		var want []ScheduledMessage
		var b []byte
		last := 0
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			m := ScheduledMessage{Stage: last + rapid.IntRange(0, MaxStages/32).Draw(t, "stages later"), Peer: rapid.IntRange(0, ranks-1).Draw(t, "peer"),
				Received: rapid.Bool().Draw(t, "received"), Bytes: rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes")}
			want, b, last = append(want, m), AppendScheduled(b, last, m), m.Stage
		}
		got, err := ParseScheduled(b, int64(last)+1, ranks)
		require.NoError(t, err)
		require.Equal(t, want, got)
		if len(b) > 0 {
			_, err = ParseScheduled(b, int64(last), ranks)
			require.Error(t, err, "too few stages")
			_, err = ParseScheduled(b[:len(b)-1], int64(last)+1, ranks)
			require.Error(t, err, "cut short")
		}
	})
}

// Any bytes are a part of a schedule, or refused.
func FuzzScheduled(f *testing.F) {
	f.Add(AppendScheduled(nil, 0, ScheduledMessage{Stage: 3, Peer: 2, Received: true, Bytes: 1 << 40}), int64(4), 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3}, int64(math.MaxInt64), 1)
	f.Fuzz(func(t *testing.T, b []byte, stages int64, ranks int) {
		ranks = max(0, ranks)
		list, err := ParseScheduled(b, stages, ranks)
		if err != nil {
			return
		}
		require.LessOrEqual(t, 3*len(list), len(b))
		last := 0
		for _, m := range list {
			require.True(t, m.Stage >= last && int64(m.Stage) < stages && m.Peer >= 0 && m.Peer < ranks && m.Bytes >= 0, "%+v", m)
			last = m.Stage
		}
	})
}
