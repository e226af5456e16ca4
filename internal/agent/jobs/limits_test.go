package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/tree/record"
)

// TestLibrariesKnowTheBoardsLimits compares what they refuse with what boards do.
func TestLibrariesKnowTheBoardsLimits(t *testing.T) {
	require.Equal(t, cache.DefaultMaxKey, record.MaxKey)
	require.Equal(t, cache.DefaultMaxValue, record.MaxValue)
}
