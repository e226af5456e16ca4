package commgraph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInduced(t *testing.T) {
	g, err := New(5, []Edge{{0, 1, 1}, {1, 2, 2}, {2, 3, 3}, {3, 4, 4}, {4, 0, 5}, {0, 3, 6}})
	require.NoError(t, err)
	for _, x := range []struct {
		ranks []int32
		want  []Edge
	}{
		{[]int32{3, 0, 4}, []Edge{{1, 0, 6}, {2, 0, 4}, {1, 2, 5}}},
		{[]int32{1, 3}, nil},
		{[]int32{2}, nil},
	} {
		got, err := g.Induced(x.ranks)
		require.NoError(t, err)
		want, err := New(len(x.ranks), x.want)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = g.Induced([]int32{0, 5})
	require.EqualError(t, err, "rank 5: there are ranks 0 to 4")
	_, err = g.Induced([]int32{0, 1, 0})
	require.EqualError(t, err, "rank 0 comes twice")
	_, err = g.Induced(nil)
	require.EqualError(t, err, "0 ranks: a graph has 1 to 4194304")
}
