package record

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClusters(t *testing.T) {
	for _, numbers := range [][]int{nil, {0}, {0, 127, 128, math.MaxInt32}} {
		got, err := ParseClusters(AppendClusters(nil, numbers))
		require.NoError(t, err)
		require.Equal(t, numbers, got)
	}
	_, err := ParseClusters([]byte{0, 0x80})
	require.EqualError(t, err, "a record is cut short")
	_, err = ParseClusters(binary.AppendUvarint(nil, 1<<31))
	require.EqualError(t, err, "switch cluster 2147483648 does not exist")
}
