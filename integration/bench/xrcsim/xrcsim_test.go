package xrcsim

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/xrcsim"
	"github.com/golaunch/golaunch/xrcsim/workload"
)

// sums returns the numbers of queue pairs of 64 processes that have an average, rounded
// to two decimals.
func sums(average string) (list []int) {
	x, err := strconv.ParseFloat(average, 64)
	if err != nil {
		panic(err)
	}
	for n := range 64 * 64 {
		if fmt.Sprintf("%.2f", float64(n)/64) == fmt.Sprintf("%.2f", x) {
			list = append(list, n)
		}
	}
	return list
}

// The published averages, as in docs/simulators.md: each has one sum, and MG's by RC,
// where connections have two ends, is odd.
func TestPublishedSums(t *testing.T) {
	want := map[string][2]int{
		"bt": {384 + 4, 256 + 4}, "cg": {248 - 2, 224}, "ep": {192, 192}, "ft": {3584 - 6, 448 - 3},
		"is": {3584 - 182, 448 - 1}, "lu": {240 + 4, 240 + 4}, "mg": {319, 256}, "sp": {384 + 4, 239},
	}
	for _, x := range published {
		for i, text := range []string{x.rc, x.xrc} {
			average, _, _ := strings.Cut(text, " ")
			assert.Equal(t, []int{want[x.name][i]}, sums(average), "%s: %s", x.name, text)
		}
	}
}

// The recorded run of CG, without its star and with the connections of collective
// operations, has the queue pairs of the pattern.
func TestRecordedCG(t *testing.T) {
	const name = "commmatrix/proxyapps/NPB-cg_results-64_ranks.txt"
	f, err := commgraph.Read(filestest.Shared(t, name), name)
	require.NoError(t, err)
	program, err := workload.FromGraph("cg", f.Graph.WithoutStar()).Peers(64)
	require.NoError(t, err)
	j, err := xrcsim.NewJob(64, 8)
	require.NoError(t, err)
	points, err := xrcsim.Count(j, xrcsim.Workload{Program: program, Setup: workload.Collectives(64)}, xrcsim.Default(), []xrcsim.Transport{xrcsim.RC, xrcsim.XRC})
	require.NoError(t, err)
	assert.Equal(t, "3.875 (3, 4)", spreadText(points[0].QueuePairs))
	assert.Equal(t, "3.5 (3, 4)", spreadText(points[1].QueuePairs))
}

// The page's tables but for the largest jobs have the numbers of the patterns.
func TestPage(t *testing.T) {
	var b strings.Builder
	for _, write := range []func(*strings.Builder) error{fullyConnected, benchmarks, sizes, gigabyte, handshakes, sending} {
		require.NoError(t, write(&b))
	}
	for _, line := range []string{
		"| 8 | 8 | 63 | 8 | 56 | 7 | 56 |",
		"| SP | 6 | 6.06 (6, 7) | 4 | 3.73 (3, 5) | 32 |",
		"| rc | 16383 | 1 GiB | 1 GiB | 131072 |",
		"| 64 | 1000 | 72 |",
	} {
		assert.Contains(t, b.String(), "\n"+line+"\n")
	}
	assert.Contains(t, b.String(), "\n| xrc | 10 % | 4032 of 4032 | 7 | 448 | 3136 | 0 |")
}
