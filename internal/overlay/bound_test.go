package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func bound(ranks []string, hosts ...job.HostIndex) Started {
	return Started{Bound: []Bound{{Ranks: ranks, Hosts: hosts}}}
}

// Hosts of which the same is said are together, in whatever order they come.
func TestBoundIsFolded(t *testing.T) {
	var s Started
	for h := range job.HostIndex(64) {
		part := bound([]string{"CPU 0", "CPU 1"}, 2*h)
		part.Merge(bound([]string{"CPU 0", "CPU 2"}, 2*h+1))
		s.Merge(part)
	}
	require.Len(t, s.Bound, 2)
	for i, b := range s.Bound {
		require.Len(t, b.Hosts, 64)
		require.Equal(t, job.HostIndex(126+i), b.Hosts[63])
	}
}
