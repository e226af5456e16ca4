package routing

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// parallel is a Loop with a goroutine for each processor.
func parallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func graph(t testing.TB, text string) *topology.Graph {
	t.Helper()
	g, err := spec.Parse(text)
	require.NoError(t, err)
	return g
}

func hostsOf(g *topology.Graph) []topology.Node { return slices.Collect(g.AllHosts()) }

// shuffled returns hosts in an order that the seed decides.
func shuffled(hosts []topology.Node, seed uint64) []topology.Node {
	order := slices.Clone(hosts)
	topology.Shuffle(order, seed)
	return order
}

func dmodk(t testing.TB, text string) *DModK {
	t.Helper()
	r, err := NewDModK(graph(t, text))
	require.NoError(t, err)
	return r
}

// The trees of table 3, with the tuples that the definition of a real-life fat
// tree asks for [Zahavi 4.C, table 3].
const (
	tree144  = "fattree:12,12/1,6/1,2"
	tree324  = "fattree:18,18/1,9/1,2"
	tree1728 = "fattree:12,12,12/1,12,6/1,1,2"
	tree1944 = "fattree:18,18,6/1,18,6/1,1,3"
)

// rlfts draws real-life fat trees of two to four levels and at most 1000 hosts.
func rlfts() *rapid.Generator[topology.Tuple] {
	return rapid.Custom(func(t *rapid.T) topology.Tuple {
		h := 1 + upTo(3).Draw(t, "levels")
		k := 1 + upTo(map[int]int{2: 15, 3: 7, 4: 3}[h]).Draw(t, "arity")
		tuple := topology.Tuple{M: []int{k}, W: []int{1}, P: []int{1}}
		for l := 2; l <= h; l++ {
			var divisors []int
			for p := 1; p <= k; p++ {
				if k%p == 0 {
					divisors = append(divisors, p)
				}
			}
			p := rapid.SampledFrom(divisors).Draw(t, "cables")
			m := k / p
			if l == h {
				m *= 2
			}
			tuple.M, tuple.W, tuple.P = append(tuple.M, m), append(tuple.W, k/p), append(tuple.P, p)
		}
		return tuple
	}).Filter(func(t topology.Tuple) bool { return t.Check() == nil && t.RLFT() == nil && t.Hosts() <= 1000 })
}

// pgfts draws any PGFTs of at most 200 hosts.
func pgfts() *rapid.Generator[topology.Tuple] {
	return rapid.Custom(func(t *rapid.T) topology.Tuple {
		h := upTo(4).Draw(t, "levels")
		draw := func(name string, hi int) []int { return rapid.SliceOfN(upTo(hi), h, h).Draw(t, name) }
		return topology.Tuple{M: draw("m", 5), W: draw("w", 3), P: draw("p", 2)}
	}).Filter(func(t topology.Tuple) bool { return t.Check() == nil && t.Hosts() <= 200 })
}

// drawTree draws a whole tree, with its routes.
func drawTree(t *rapid.T, tuples *rapid.Generator[topology.Tuple]) *DModK {
	g, err := topology.NewPGFT(tuples.Draw(t, "tree"), 0)
	require.NoError(t, err)
	r, err := NewDModK(g)
	require.NoError(t, err)
	return r
}

// degraded is g without a random part of its cables.
func degraded(t *rapid.T, g *topology.Graph) *topology.Graph {
	percent := rapid.SampledFrom([]uint64{0, 1, 2, 5, 10, 20, 40}).Draw(t, "percent of cables missing")
	seed := rapid.Uint64().Draw(t, "seed")
	return g.Without(func(c int) bool { return topology.Mix(seed+uint64(c)*topology.MixStep)%100 < percent })
}

// upTo draws 1..n evenly.
func upTo(n int) *rapid.Generator[int] {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return rapid.SampledFrom(all)
}
