package algorithms

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each name is there once, and found.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range Names() {
		require.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
		a, err := Find(name)
		require.NoError(t, err)
		require.Equal(t, name, a.Name)
		require.NotEmpty(t, a.Help, name)
	}
	require.True(t, seen["shift"] && seen["alltoall/tacs1"] && seen["gather/racks"] && seen["allgather/doubling"])
	_, err := Find("allgather/magic")
	require.EqualError(t, err, `"allgather/magic" is no algorithm that it knows; see golaunch netsim list`)
}

// Schedules that are too large, or depend on unknown facts, are refused.
func TestScheduleRefuses(t *testing.T) {
	for _, x := range []struct {
		name  string
		ranks int
		bytes int64
		want  string
	}{
		{name: "ring", ranks: 4, bytes: -1, want: "4 ranks of -1 bytes: there may be 0 bytes to 1 TiB in all"},
		{name: "ring", ranks: 4, bytes: math.MaxInt64, want: "4 ranks of 9223372036854775807 bytes: there may be 0 bytes to 1 TiB in all"},
		{name: "shift", ranks: 100000, bytes: 8, want: "shift of 100000 ranks has 99999 stages: ranks times stages may be 33554432; take fewer ranks"},
		{name: "alltoall/tacs1", ranks: 4, bytes: 8, want: "alltoall/tacs1 depends on the network: say which, with --topology"},
	} {
		a, err := Find(x.name)
		require.NoError(t, err)
		_, err = Schedule(a, x.ranks, nil, x.bytes)
		require.EqualError(t, err, x.want)
	}
	a, err := Find("ring")
	require.NoError(t, err)
	s, err := Schedule(a, 4, nil, 1<<38)
	require.NoError(t, err)
	require.Equal(t, 1, s.Stages)
	require.Len(t, s.Append(nil, 0), 4)
}
