package pmix

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func TestReady(t *testing.T) {
	times, err := ready("rank 1 ready 4000000\nrank 0 ready 3000000\n", 1000000, 2)
	require.NoError(t, err)
	require.Equal(t, []float64{3}, times)
	for _, bad := range []string{"", "rank 0 ready 1\n", "rank 0 ready 1\nrank 0 ready 2\n", "hello\n"} {
		_, err := ready(bad, 0, 2)
		require.Error(t, err, "%q", bad)
	}
}

func TestSteps(t *testing.T) {
	out := "rank 1 times 1000000 2000000 7000000 9000000\nrank 0 times 2000000 5000000 6000000 12000000\n" +
		"rank 0 times 0 0 1000000 3000000\nrank 1 times 0 0 2000000 1000000\n"
	times, err := fence(out, 0, 2)
	require.NoError(t, err)
	require.Equal(t, []float64{6, 2}, times)
	times, err = whole(out, 0, 2)
	require.NoError(t, err)
	require.Equal(t, []float64{11, 3}, times)
	for _, bad := range []string{"", "rank 0 of 2 ok\n", "rank 0 times 1 2 3 4\n"} {
		_, err := fence(bad, 0, 2)
		require.Error(t, err, "%q", bad)
	}
}

func TestPage(t *testing.T) {
	s, err := parse(results.NewFlags("pmix", "-sizes", "8x4", "-runs", "2"))
	require.NoError(t, err)
	b := book{}
	for i, c := range contenders {
		b.add(place{size{8, 4}, startups[0].name, c.name}, []float64{float64(100 * (i + 1))})
	}
	b.fail(place{size{8, 4}, startups[0].name, "srun, 5.0.7"}, errors.New("no daemons"))
	text := page(s, b)
	require.Contains(t, text, "| 8 × 4 | 100 | 200 | 300 | 400 | 500 | – | 2.00 | 3.00 | 1.25 | – |\n")
	require.Contains(t, text, "- srun, 5.0.7, 8 × 4, start-up to the end of MPI_Init: no daemons\n")
	require.Contains(t, text, "bin/bench pmix -sizes 8x4 -runs 2\n")
}

func TestCommandLine(t *testing.T) {
	for _, bad := range [][]string{{"-sizes", "8"}, {"-sizes", "0x4"}, {"-runs", "0"}, {"-fences", "8x1,4x1"}, {"stray"}, {"-limit", "0s"}} {
		_, err := parse(results.NewFlags("pmix", bad...))
		require.Error(t, err, "%q", bad)
	}
}
