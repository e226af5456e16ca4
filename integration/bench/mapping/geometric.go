package mapping

import (
	"math"

	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/topology"
)

// geometric returns a random geometric graph: points in a periodic cube, edges between
// those nearer than radius, with weight 1000 (1 - distance/radius)^2, at least 1.
func geometric(n int, radius float64, seed uint64) (*commgraph.Graph, error) {
	at := make([][3]float64, n)
	for i := range at {
		for d := range at[i] {
			x := topology.Mix(seed<<32 + uint64(3*i+d)*topology.MixStep)
			at[i][d] = float64(x>>11) / (1 << 53)
		}
	}
	var edges []commgraph.Edge
	for a := range at {
		for b := range a {
			square := 0.0
			for d := range 3 {
				x := math.Abs(at[a][d] - at[b][d])
				x = min(x, 1-x)
				square += float64(x * x) // rounded alike on all machines
			}
			if square < radius*radius {
				w := 1 - math.Sqrt(square)/radius
				edges = append(edges, commgraph.Edge{A: int32(a), B: int32(b), Weight: max(1, int64(1000*float64(w*w)))})
			}
		}
	}
	return commgraph.New(n, edges)
}
