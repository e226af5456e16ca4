package results

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	times := []time.Duration{9, 1, 5}
	require.Equal(t, time.Duration(5), Median(times))
	require.Equal(t, []time.Duration{9, 1, 5}, times, "they stay as they are")
	require.InDelta(t, 2.5, Median([]float64{4, 1, 3, 2}), 0)
	require.Zero(t, Median[int](nil))
}
