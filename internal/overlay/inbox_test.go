package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer that a burst of events has grown is not gone through for each event that
// comes afterwards.
func TestTakeClearsWhatItsBufferHeld(t *testing.T) {
	b := NewInbox(func() {})
	for n := range 100 {
		b.Put(n)
	}
	burst := b.Take(nil)
	b.Put(100)
	one := b.Take(burst[:2])
	require.Equal(t, []Event{100}, one)
	require.Nil(t, burst[1], "it is let go of")
	require.Equal(t, 2, burst[2], "it is left alone")
}
