package job_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// A rank is in the block that has it, whatever number it is said to have.
func TestBlockOf(t *testing.T) {
	blocks := []job.Block{{Host: 4, First: 0, Count: 2}, {Host: 2, First: 2, Count: 1}, {Host: 3, First: 3, Count: 5}}
	for r, host := range map[job.Rank]job.HostIndex{0: 4, 1: 4, 2: 2, 3: 3, 7: 3} {
		b := job.BlockOf(blocks, r)
		require.NotNil(t, b, r)
		require.Equal(t, host, b.Host, r)
	}
	for _, r := range []job.Rank{-1, 8, math.MinInt, math.MinInt + 1, math.MinInt + 7, math.MaxInt} {
		require.Nil(t, job.BlockOf(blocks, r), r)
	}
	require.Nil(t, job.BlockOf(nil, 0))
}
