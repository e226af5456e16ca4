package launcher

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
)

// Spares take the ranks of dead hosts, and nothing else changes.
func TestSpares(t *testing.T) {
	for _, c := range []struct {
		name      string
		hosts     string
		n, spares int
		dead      []job.HostIndex
		want      []int
	}{
		{"nobody dies", "n[1-6]", 8, 2, nil, []int{2, 2, 2, 2, 0, 0}},
		{"one dies", "n[1-6]", 8, 2, []job.HostIndex{1}, []int{2, 0, 2, 2, 2, 0}},
		{"two die", "n[1-6]", 8, 2, []job.HostIndex{0, 3}, []int{0, 2, 2, 0, 2, 2}},
		{"a spare dies", "n[1-6]", 8, 2, []job.HostIndex{5}, []int{2, 2, 2, 2, 0, 0}},
		{"more die than are spare", "n[1-6]", 8, 2, []job.HostIndex{0, 1, 2}, []int{0, 0, 0, 3, 3, 2}},
		{"no more hosts than needed", "n[1-9]", 2, 1, nil, []int{1, 1, 0}},
		{"smaller slots need both spares", "a:4,b:2,c:2", 4, 2, []job.HostIndex{0}, []int{0, 2, 2}},
	} {
		o := options(t, c.hosts, c.n)
		o.Spares = c.spares
		p, err := NewPlan(o, "here")
		require.NoError(t, err, c.name)
		if len(c.dead) > 0 {
			p, err = p.Without(c.dead)
			require.NoError(t, err, c.name)
		}
		assert.Equal(t, c.want, perHost(p), c.name)
	}
	o := options(t, "a,b", 2)
	o.Spares = 2
	_, err := NewPlan(o, "here")
	require.EqualError(t, err, "--spares: 2 spares of 2 hosts leave no host for ranks; name more hosts")
}
