package job

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRankIDs(t *testing.T) {
	for text, id := range map[string]RankID{"0": {}, "3": {Rank: 3}, "1.3": {1, 3}, "12.0": {12, 0}, "-1": {Rank: -1}} {
		require.Equal(t, text, id.String())
		require.Equal(t, "rank "+text, string(id.AppendTo([]byte("rank "))))
	}
	ids := []RankID{{1, 0}, {0, 10}, {0, 9}, {2, 0}, {1, 1}, {0, 0}}
	slices.SortFunc(ids, RankID.Compare)
	require.Equal(t, []RankID{{0, 0}, {0, 9}, {0, 10}, {1, 0}, {1, 1}, {2, 0}}, ids)
	require.Zero(t, RankID{1, 2}.Compare(RankID{1, 2}))
}
