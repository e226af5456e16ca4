package mapping

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
)

// Hilbert's curve goes through a cube step by step.
func TestHilbertIsConnected(t *testing.T) {
	for _, dims := range [][]int{{8, 8}, {4, 4, 4}, {4, 4, 4, 4}} {
		at := gridPlaces(dims)
		order := along(at, hilbert)
		for i := range order[1:] {
			steps := 0
			for d := range dims {
				steps += abs(at[order[i]][d] - at[order[i+1]][d])
			}
			require.Equal(t, 1, steps, "%v: from %v to %v", dims, at[order[i]], at[order[i+1]])
		}
	}
}

func TestMorton(t *testing.T) {
	require.Equal(t, []int32{0, 1, 4, 5, 2, 3, 6, 7}, along(gridPlaces([]int{2, 4}), morton))
}

// Hilbert's curve goes from neighbor to neighbor, and both go through every host.
func TestAlong(t *testing.T) {
	g := router(t, "mesh:4x4x4").Graph()
	hosts := slices.Collect(g.AllHosts())
	for _, curve := range []string{Morton, Hilbert} {
		order, err := Along(curve, g, hosts)
		require.NoError(t, err)
		require.NoError(t, Map(order).Check(64))
		if curve == Morton {
			continue
		}
		mesh := g.Family().(*topology.Torus)
		for i := 1; i < len(order); i++ {
			steps := 0
			for d := range 3 {
				x := mesh.Coordinate(g.Leaf(hosts[order[i]]), d) - mesh.Coordinate(g.Leaf(hosts[order[i-1]]), d)
				steps += max(x, -x)
			}
			require.Equal(t, 1, steps)
		}
	}
	_, err := Along(Morton, router(t, "fattree:2,2/1,1/1,1").Graph(), nil)
	require.EqualError(t, err, "hosts of fattree:2,2/1,1/1,1 have no coordinates: expected a torus or a mesh")
}
