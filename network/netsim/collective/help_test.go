package collective

import (
	"fmt"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/netsim"
)

// must returns the Program of an algorithm.
func must(t require.TestingT, name string, j Job) *Program {
	a, err := Find(name)
	require.NoError(t, err)
	p, err := a.Program(j)
	require.NoError(t, err)
	return p
}

// tori caches the tori of tests: large ones take a second to make.
var tori = map[string]*netsim.Network{}

// torus returns a torus of any number of dimensions.
func torus(t require.TestingT, dims ...int) *netsim.Network {
	key := fmt.Sprint(dims)
	if tori[key] == nil {
		n, err := Torus(dims, true)
		require.NoError(t, err)
		tori[key] = n
	}
	return tori[key]
}

// on returns a job with a rank at each switch of a torus.
func on(bytes int64, dims ...int) Job { return Job{Ranks: product(dims), Bytes: bytes, Dims: dims} }

// cost returns the costs of the stages of an algorithm on a network.
func cost(t require.TestingT, name string, n *netsim.Network, j Job) []Cost {
	costs, err := Price(must(t, name, j), n, true)
	require.NoError(t, err)
	return costs
}

// drawJob draws a job that an algorithm can be made for, of few ranks.
func drawJob(t *rapid.T, needs Shape) Job {
	j := Job{Bytes: rapid.Int64Range(0, 40).Draw(t, "bytes")}
	switch needs {
	case Any:
		j.Ranks = rapid.IntRange(1, 40).Draw(t, "ranks")
	case Square:
		side := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "side")
		j.Dims = []int{side, side}
		j.Ranks = side * side
	default:
		j.Dims = rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Filter(func(d []int) bool { return product(d) <= 64 }).Draw(t, "dims")
		j.Ranks = product(j.Dims)
	}
	if needs == Members && rapid.Bool().Draw(t, "irregular") {
		members := rapid.Permutation(identity(j.Ranks)).Draw(t, "members")
		j.Ranks = rapid.IntRange(1, j.Ranks).Draw(t, "ranks")
		j.Members = members[:j.Ranks]
	}
	j.Root = int32(rapid.IntRange(0, j.Ranks-1).Draw(t, "root"))
	return j
}
