package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChoice(t *testing.T) {
	for _, color := range []uint32{0, 7, 1<<31 - 1, Undefined} {
		for _, key := range []int32{-1 << 31, -1, 0, 1<<31 - 1} {
			gotColor, gotKey, err := ParseChoice(AppendChoice(nil, color, key))
			require.NoError(t, err)
			require.Equal(t, color, gotColor)
			require.Equal(t, key, gotKey)
		}
	}
	for _, n := range []int{0, 7, 9} {
		_, _, err := ParseChoice(make([]byte, n))
		require.Error(t, err)
	}
}
