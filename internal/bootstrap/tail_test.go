package bootstrap_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// A Tail holds the suffix of everything written, however it was cut up.
func TestTailKeepsTheSuffix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail bootstrap.Tail
		var all []byte
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3*bootstrap.TailSize), 0, 8).Draw(t, "sizes")
		for i, size := range sizes {
			p := make([]byte, size)
			for j := range p {
				p[j] = byte(i*31 + j)
			}
			n, err := tail.Write(p)
			require.NoError(t, err)
			require.Equal(t, size, n)
			all = append(all, p...)
		}
		want := all[max(0, len(all)-bootstrap.TailSize):]
		require.Equal(t, string(want), tail.String())
	})
}
