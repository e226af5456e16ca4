package scheduling

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/placement/sched"
)

// Of 20 hosts of a leaf switch the last four share links with the first four.
func TestLinksOfTheCluster(t *testing.T) {
	link, err := links()
	require.NoError(t, err)
	shared := 0
	for a := range link {
		for b := range a {
			if link[a] == link[b] {
				shared++
				assert.Equal(t, a/20, b/20)
				assert.Equal(t, 16, a-b)
			}
		}
	}
	assert.Equal(t, 3*4, shared)
}

// To avoid shared links pays off at both slowdowns that were measured.
func TestAvoidingGains(t *testing.T) {
	link, err := links()
	require.NoError(t, err)
	for _, slowdown := range []float64{0.15, 0.21} {
		first, err := simulate(link, sched.FirstFit, slowdown, 240)
		require.NoError(t, err)
		avoid, err := simulate(link, sched.Avoid, slowdown, 240)
		require.NoError(t, err)
		assert.Less(t, avoid.Makespan, first.Makespan)
		assert.Less(t, avoid.Turnaround, first.Turnaround)
		assert.Less(t, avoid.Slowed, first.Slowed/2)
	}
}
