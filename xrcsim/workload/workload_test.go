package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
)

// lists returns the peers of all ranks.
func lists(p Peers, ranks int) [][]int32 {
	all := make([][]int32, ranks)
	for r := range all {
		var s Set
		p(&s, r)
		all[r] = s.List(r)
	}
	return all
}

func peersOf(t testing.TB, word string, ranks int) Peers {
	t.Helper()
	sources, err := Parse(word)
	require.NoError(t, err)
	p, err := sources[0].Peers(ranks)
	require.NoError(t, err)
	return p
}

// legal are words and numbers of ranks that go together.
var legal = map[string][]int{
	"npb:bt": {1, 4, 9, 16, 36, 64, 100, 1024}, "npb:sp:C": {1, 4, 49, 256, 2916}, "npb:cg": {1, 2, 4, 8, 64, 128, 1024},
	"npb:ep": {1, 3, 64, 1000}, "npb:ft": {1, 2, 64, 256, 512, 4096}, "npb:ft:D": {1024, 2048}, "npb:is": {1, 2, 64, 1024},
	"npb:lu": {1, 2, 8, 64, 256}, "npb:lu:C": {1024}, "npb:mg": {1, 2, 4, 8, 16, 64, 256, 1024, 4096},
	"cart:3d:periodic:26": {1, 2, 7, 27, 60, 64, 1000}, "cart:2d": {1, 2, 6, 36}, "cart:5x3x2:open:18": {30},
	"alltoall": {1, 2, 10}, "random:6": {1, 2, 50}, "random:1:9": {11}, "none": {1, 5},
}

// Whoever is a peer has the other as a peer, all are ranks, and runs say the same as
// ranks one by one.
func TestPeersAreMutual(t *testing.T) {
	for word, sizes := range legal {
		for _, ranks := range sizes {
			all := lists(Both(peersOf(t, word, ranks), Collectives(ranks)), ranks)
			for a, peers := range all {
				for _, b := range peers {
					if b < 0 || int(b) >= ranks {
						t.Fatalf("%s, %d ranks: rank %d has peer %d", word, ranks, a, b)
					}
					if _, ok := slices.BinarySearch(all[b], int32(a)); !ok {
						t.Fatalf("%s, %d ranks: rank %d has peer %d, and not the other way", word, ranks, a, b)
					}
				}
			}
		}
	}
}

// Small collectives are those of package routing.
func TestCollectivesAreFoldedDoubling(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 36, 64, 100} {
		var edges []commgraph.Edge
		q := routing.FoldedDoubling(n)
		for s := range q.Stages {
			for _, p := range q.Append(nil, s) {
				edges = append(edges, commgraph.Edge{A: p.From, B: p.To, Weight: 1})
			}
		}
		g, err := commgraph.New(n, edges)
		require.NoError(t, err)
		require.Equal(t, lists(graphPeers(g), n), lists(Collectives(n), n), "%d ranks", n)
	}
}

// A stencil is the graph that package commgraph makes of the same word.
func TestCartIsThatOfGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "dims")
		ranks := 1
		var sizes []string
		for _, n := range dims {
			ranks *= n
			sizes = append(sizes, strconv.Itoa(n))
		}
		hoods := strings.Split(neighborhoods(len(dims)), ", ")
		word := fmt.Sprintf("cart:%s:%s:%s", strings.Join(sizes, "x"), rapid.SampledFrom([]string{"open", "periodic"}).Draw(t, "ends"),
			rapid.SampledFrom(hoods).Draw(t, "neighbors"))
		g, err := commgraph.Parse(word)
		require.NoError(t, err)
		sources, err := Parse(word)
		require.NoError(t, err)
		require.Equal(t, ranks, sources[0].Ranks)
		p, err := sources[0].Peers(ranks)
		require.NoError(t, err)
		require.Equal(t, lists(graphPeers(g), ranks), lists(p, ranks), word)
	})
}

func TestBalanced(t *testing.T) {
	for ranks, want := range map[int][]int{1: {1, 1, 1}, 7: {7, 1, 1}, 12: {3, 2, 2}, 28: {7, 2, 2}, 64: {4, 4, 4}, 1 << 20: {128, 128, 64}} {
		assert.Equal(t, want, balance(ranks, 3))
	}
	assert.Equal(t, []int{36}, balance(36, 1))
	assert.Equal(t, []int{6, 6}, balance(36, 2))
}

// MG, told in another way: a rank has the points of its share of each level; those
// with points exchange with the nearest that have some in one dimension and the same
// place in the others, and those that lose theirs at the next level, with those that
// keep them, whatever the other dimensions.
func TestMGIsByPoints(t *testing.T) {
	for _, ranks := range []int{1, 2, 8, 16, 32, 64, 128, 1024, 2048} {
		dims := mgDims(ranks)
		rankAt := func(at [3]int) int32 { return int32(at[0] + dims[0]*(at[1]+dims[1]*at[2])) }
		var edges []commgraph.Edge
		for points := 256; points >= 2; points /= 2 {
			has := func(d, x, points int) bool { return (x+1)*points/dims[d] > x*points/dims[d] }
			for r := range ranks {
				at := [3]int{r % dims[0], r / dims[0] % dims[1], r / (dims[0] * dims[1])}
				all := has(0, at[0], points) && has(1, at[1], points) && has(2, at[2], points)
				for d := range dims {
					if !has(d, at[d], points) {
						continue
					}
					near := at
					for near[d] = (at[d] + 1) % dims[d]; !has(d, near[d], points); near[d] = (near[d] + 1) % dims[d] {
					}
					handsOver := points > 2 && has(d, at[d], points/2) != has(d, near[d], points/2)
					if all || handsOver {
						edges = append(edges, commgraph.Edge{A: rankAt(at), B: rankAt(near), Weight: 1})
					}
				}
			}
		}
		g, err := commgraph.New(ranks, edges)
		require.NoError(t, err)
		require.Equal(t, lists(graphPeers(g), ranks), lists(peersOf(t, "npb:mg", ranks), ranks), "%d ranks", ranks)
	}
}

// recorded reads a graph that others have measured.
func recorded(t testing.TB, name string) *commgraph.Graph {
	t.Helper()
	f, err := commgraph.Read(filestest.Shared(t, "commmatrix/proxyapps/"+name), name)
	require.NoError(t, err)
	return f.Graph
}

// Recorded runs of CG and MG, without the star of collective operations, have the
// edges of the patterns.
func TestPatternsAreThoseRecorded(t *testing.T) {
	for _, x := range []struct {
		file, word string
		ranks      int
	}{
		{"NPB-cg_results-64_ranks.txt", "npb:cg", 64},
		{"NPB-cg_results-1024_ranks.txt", "npb:cg", 1024},
		{"NPB-mg_results-64_ranks.txt", "npb:mg", 64},
		{"NPB-mg_results-1024_ranks.txt", "npb:mg", 1024},
	} {
		t.Run(x.file, func(t *testing.T) {
			g := recorded(t, x.file)
			_, ok := g.Star()
			require.True(t, ok)
			require.Equal(t, lists(peersOf(t, x.word, x.ranks), x.ranks), lists(graphPeers(g.WithoutStar()), x.ranks))
		})
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                `workload "": expected one of npb:ft:D, cart:3d:periodic:26, alltoall, random:16, none`,
		"npb:dc":          `workload "npb:dc": "dc": expected one of bt, cg, ep, ft, is, lu, mg, sp (such as npb:ft:D)`,
		"npb:ft:A":        `workload "npb:ft:A": "A": expected a class, B to F (such as npb:ft:D)`,
		"npb:ft:B:x":      `workload "npb:ft:B:x": "B:x": expected a class, B to F (such as npb:ft:D)`,
		"cart":            `workload "cart": expected sizes or a number of dimensions, such as 8x8x8 or 3d (such as cart:3d:periodic:26)`,
		"cart:9d":         `workload "cart:9d": "9d": expected 1d to 8d (such as cart:3d:periodic:26)`,
		"cart:0x4":        `workload "cart:0x4": "0x4": expected up to 8 sizes, such as 8x8x8, or their number, such as 3d (such as cart:3d:periodic:26)`,
		"cart:2048x1024":  `workload "cart:2048x1024": "2048x1024": more than 1048576 ranks (such as cart:3d:periodic:26)`,
		"cart:4x4:5":      `workload "cart:4x4:5": "5": expected periodic, open or the number of neighbors: 4, 8 (such as cart:3d:periodic:26)`,
		"alltoall:8":      `workload "alltoall:8": "8": expected nothing more (such as alltoall)`,
		"none:1":          `workload "none:1": "1": expected nothing more (such as none)`,
		"random":          `workload "random": expected a number of peers, and maybe a seed (such as random:16)`,
		"random:65":       `workload "random:65": "65": expected a number of peers, 1 to 64 (such as random:16)`,
		"random:4:-1":     `workload "random:4:-1": "-1": expected a seed, 0 to 18446744073709551615 (such as random:16)`,
		"random:4:1:more": `workload "random:4:1:more": expected a number of peers, and maybe a seed (such as random:16)`,
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want)
	}
	for _, x := range []struct {
		word  string
		ranks int
		want  string
	}{
		{"npb:bt", 63, "workload npb:bt: 63 ranks: it takes a square, such as 16 or 25"},
		{"npb:sp", 1225, "workload npb:sp: 1225 ranks: class B takes at most 1156; a larger class takes more"},
		{"npb:cg", 48, "workload npb:cg: 48 ranks: it takes a power of two"},
		{"npb:ep", 16385, "workload npb:ep: 16385 ranks: class B takes at most 16384; a larger class takes more"},
		{"npb:ft", 1 << 17, "workload npb:ft: 131072 ranks: class B takes at most 65536; a larger class takes more"},
		{"npb:is", 2048, "workload npb:is: 2048 ranks: it takes at most 1024"},
		{"npb:lu", 1024, "workload npb:lu: 1024 ranks: class B takes at most 256; a larger class takes more"},
		{"npb:mg", 3, "workload npb:mg: 3 ranks: it takes a power of two"},
		{"cart:4x4", 15, "workload cart:4x4: 15 ranks: it is for 16"},
		{"alltoall", 0, "workload alltoall: 0 ranks: expected 1 to 1048576"},
		{"alltoall", MaxRanks + 1, "workload alltoall: 1048577 ranks: expected 1 to 1048576"},
	} {
		sources, err := Parse(x.word)
		require.NoError(t, err)
		_, err = sources[0].Peers(x.ranks)
		require.EqualError(t, err, x.want)
	}
}

func FuzzParse(f *testing.F) {
	for word := range legal {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sources, err := Parse(text)
		if err != nil {
			require.Contains(t, err.Error(), "workload ")
			return
		}
		for _, s := range sources {
			ranks := s.Ranks
			if ranks == 0 {
				ranks = 64
			}
			p, err := s.Peers(ranks)
			require.NoError(t, err)
			var set Set
			for _, r := range []int{0, ranks - 1} {
				p(&set, r)
			}
			for _, x := range set.Single() {
				require.True(t, x >= 0 && int(x) < ranks)
			}
		}
	})
}
