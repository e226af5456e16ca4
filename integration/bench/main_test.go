package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list names every bench, in order; for another name the error has them all.
func TestList(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), nil, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, len(benches))
	require.True(t, slices.IsSorted(lines))
	require.ErrorContains(t, run(t.Context(), []string{"pmx"}, &out), `there is no "pmx": want one of cache, chaos, `)
}

func TestErrorsNameTheBench(t *testing.T) {
	require.EqualError(t, run(t.Context(), []string{"scheduling", "stray"}, nil), `scheduling: stray argument "stray"`)
}
