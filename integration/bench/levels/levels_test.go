package levels

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/network/commgraph"
)

// Every map has one rank on each core, and the volumes of all levels add up to that of
// the ranks.
func TestMapsOfSparseJobs(t *testing.T) {
	for groups, dims := range [][]int{{4, 4, 6}, {5, 6, 8}, {6, 8, 8}} {
		job, err := newTrial(dims, groups+1, 7, benchmarks[0])
		require.NoError(t, err)
		x, err := makeMaps(job, job.graph)
		require.NoError(t, err)
		for _, name := range x.names {
			assert.ElementsMatch(t, job.machine().Default(), x.at[name], name)
			sum := 0.0
			for _, mb := range job.megabytes(x.at[name]) {
				sum += mb
			}
			assert.InDelta(t, 2131, sum, 0.01, name)
		}
		assert.GreaterOrEqual(t, job.gain(x.at["best"]), max(0, job.gain(x.at["best, graph only"]), job.gain(x.at["NUMA"])))
	}
}

// Vertices go from the parts that are too large to those that are too small, those
// that have least weight in theirs first.
func TestRepairGivesSizes(t *testing.T) {
	g, err := commgraph.New(5, []commgraph.Edge{{A: 0, B: 1, Weight: 9}, {A: 1, B: 2, Weight: 9}, {A: 2, B: 3, Weight: 1}, {A: 3, B: 4, Weight: 2}})
	require.NoError(t, err)
	part := []int32{0, 0, 0, 0, 1}
	repair(g, part, []int{3, 2})
	assert.Equal(t, []int32{0, 0, 0, 1, 1}, part)
}

func TestUnknownFlagsAreRefused(t *testing.T) {
	err := Run(t.Context(), results.NewFlags("levels", "-o", filepath.Join(t.TempDir(), "page.md"), "stray"))
	assert.EqualError(t, err, `stray argument "stray"`)
}
