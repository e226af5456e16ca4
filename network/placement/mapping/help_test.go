package mapping

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// The networks that figures are given for.
const (
	torus512     = "torus:8x8x8"
	tree512      = "xgft:8,8,8/1,1,1"
	dragonfly512 = "dragonfly:p=4,a=8,h=2,g=16"
)

func router(t testing.TB, text string) routing.Router {
	t.Helper()
	g, err := spec.Parse(text)
	require.NoError(t, err)
	r, err := routing.New(g, topology.Serial)
	require.NoError(t, err)
	return r
}

// on returns a place on each host of a network, with the unit that is usual for it.
func on(t testing.TB, text string) *Target {
	t.Helper()
	r := router(t, text)
	unit := Links
	if _, ok := r.Graph().Family().(*topology.Torus); ok {
		unit = Inner
	}
	return target(t, r, slices.Collect(r.Graph().AllHosts()), unit)
}

func target(t testing.TB, r routing.Router, hosts []topology.Node, unit Unit) *Target {
	t.Helper()
	target, err := OnNetwork(r, hosts, unit)
	require.NoError(t, err)
	return target
}

// each host comes so often.
func times(n int, hosts ...topology.Node) (list []topology.Node) {
	for _, h := range hosts {
		for range n {
			list = append(list, h)
		}
	}
	return list
}

func grid(t testing.TB, text string) *commgraph.Graph {
	t.Helper()
	g, err := commgraph.Parse(text)
	require.NoError(t, err)
	return g
}

// shared reads a graph that is not in the repository.
func shared(t testing.TB, name string) *commgraph.Graph {
	t.Helper()
	f, err := commgraph.Read(filestest.Shared(t, name), name)
	require.NoError(t, err)
	return f.Graph
}
