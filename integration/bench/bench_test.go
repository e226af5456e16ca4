package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedians(t *testing.T) {
	wall := func(ms ...int) (rs []reading) {
		for _, n := range ms {
			rs = append(rs, reading{wall: time.Duration(n) * time.Millisecond})
		}
		return rs
	}
	c := contest{[][]reading{wall(300, 100, 200), wall(100, 100, 50), wall(1, 2, 4)}}
	require.InDelta(t, 200, c.wall(0), 1e-9)
	require.InDelta(t, 3, c.ratio(0, 1), 1e-9, "of 3, 1 and 4")
	require.InDelta(t, 1.5, middle([]float64{2, 1}), 1e-9)
}

func TestCommandLine(t *testing.T) {
	s, err := parse([]string{"-nodes", "2,4", "-runs", "5"})
	require.NoError(t, err)
	require.Equal(t, []int{2, 4}, s.nodes)
	require.Equal(t, 5, s.runs)
	for _, bad := range [][]string{{"-nodes", "x"}, {"-nodes", "0"}, {"-runs", "0"}, {"stray"}} {
		_, err := parse(bad)
		require.Error(t, err, "%q", bad)
	}
}
