package sshboot

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// sendThrough passes total bytes in pieces of 32 KiB through a pacer whose
// answers take rtt, and returns how often it asked.
func sendThrough(total int, rtt time.Duration) int {
	asked := 0
	p := newPacer(func() {
		time.Sleep(rtt) //nolint:forbidigo // in fake time
		asked++
	})
	for ; total > 0; total -= 32 << 10 {
		p.wrote(32 << 10)
	}
	return asked
}

func TestPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 64, sendThrough(4<<20, 100*time.Microsecond), "a near host is asked after every 64 KiB")
		far := sendThrough(64<<20, 40*time.Millisecond)
		require.Less(t, far, 120, "a far one rarely")
		require.GreaterOrEqual(t, far, 64, "but after every MiB")

		asked := 0
		p := newPacer(func() { asked++ })
		for range 1000 {
			p.wrote(1 << 10)
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // in fake time
		}
		require.Zero(t, asked, "small messages with pauses are never held up")
	})
}
