package culprit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/report"
)

func TestErrorsOf(t *testing.T) {
	begin := time.Now()
	failed := func(rank int, after time.Duration) report.Failure {
		return report.Failure{Rank: rank, At: begin.Add(after)}
	}
	const said = "1 100.000000000\n0 100.001000000\n2 100.002500000\n"
	errs, err := errorsOf([]report.Failure{failed(0, time.Millisecond), failed(1, 500*time.Microsecond)}, said, 1)
	require.NoError(t, err)
	require.Len(t, errs, 1)
	require.InDelta(t, -500*time.Microsecond, errs[0], float64(time.Microsecond))

	errs, err = errorsOf([]report.Failure{failed(0, 0)}, said, 1)
	require.NoError(t, err)
	require.Empty(t, errs, "the culprit was not heard of")
	_, err = errorsOf(nil, "what?\n", 1)
	require.Error(t, err)
}

func TestHistogram(t *testing.T) {
	text := histogram([]time.Duration{-30 * time.Microsecond, 30 * time.Microsecond, time.Hour, 300 * time.Microsecond})
	require.Contains(t, text, "| below 50µs | 1 | 1 |\n")
	require.Contains(t, text, "| below 500µs | 0 | 1 |\n")
	require.Contains(t, text, "| 50ms or more | 0 | 1 |\n")
	require.Contains(t, text, "4 pairs of ends")
	require.Equal(t, "No peer ended by itself.\n", histogram(nil))
}
