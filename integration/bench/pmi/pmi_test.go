package pmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func TestReadTimes(t *testing.T) {
	r, err := read("rank 1 times 1000000 2000000 7000000 9000000\nrank 0 times 2000000 5000000 6000000 12000000\n"+
		"rank 0 times 0 0 0 3000000\nrank 1 times 0 0 0 1000000\n", 2, 2)
	require.NoError(t, err)
	require.Equal(t, []reading{{
		fence: 6, gets: 5, whole: 11,
		put: steps{3, 1, 3}, wait: steps{1, 1, 5}, get: steps{6, 2, 6},
	}, {gets: 3, whole: 3, get: steps{3, 1, 3}}}, r)
	for _, bad := range []string{"rank 0 of 2 ok\n", "rank 2 times 1 2 3 4\n", "rank 0 times 1 2 3 4\n", "",
		"rank 0 times 1 2 3 4\nrank 0 times 1 2 3 4\nrank 1 times 1 2 3 4\n"} {
		_, err := read(bad, 2, 1)
		require.Error(t, err, "%q", bad)
	}
}

func TestRatiosAreOfPairs(t *testing.T) {
	a, b := []reading{{whole: 300}, {whole: 100}, {whole: 200}}, []reading{{whole: 100}, {whole: 100}, {whole: 50}}
	require.InDelta(t, 3, ratio(a, b, whole), 1e-9, "of 3, 1 and 4")
	require.InDelta(t, 200, middle(a, whole), 1e-9)
}

func TestPageHasAll(t *testing.T) {
	s, err := parse(results.NewFlags("pmi", "-nodes", "8,16", "-runs", "1"))
	require.NoError(t, err)
	s.Out = t.TempDir() + "/page.md"
	results := map[place][]reading{}
	for _, n := range s.nodes {
		for _, c := range s.contenders() {
			results[place{n, "all", c}] = []reading{{fence: 1, gets: 2, whole: 3, agents: 0.5}}
		}
	}
	var page strings.Builder
	preamble(&page, s)
	require.NoError(t, table(&page, s, patterns[1], results))
	require.Contains(t, page.String(), "| 16 × 8 | 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | 3.00 | 1.00 | 1.0 | 1.0 | 1.00 |")
	require.Contains(t, page.String(), "bin/bench pmi -nodes 8,16 -runs 1\n")
	require.FileExists(t, strings.TrimSuffix(s.Out, "page.md")+"plots/pmi-1top.svg")
}

func TestCommandLine(t *testing.T) {
	for _, bad := range [][]string{{"-nodes", "x"}, {"-nodes", "0"}, {"-runs", "0"}, {"stray"}, {"-policies", "mru"}, {"-policies", "hcs"}} {
		_, err := parse(results.NewFlags("pmi", bad...))
		require.Error(t, err, "%q", bad)
	}
}
