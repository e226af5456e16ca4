package results

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// flags returns a silent command line.
func flags(words ...string) *Flags {
	f := NewFlags("x", words...)
	f.SetOutput(io.Discard)
	f.Runs, f.Out = 3, "docs/results/x.md"
	return f
}

func TestFlags(t *testing.T) {
	f := flags("-runs", "2", "-o", "y.md", "-n", "4")
	n := f.Int("n", 1, "")
	require.NoError(t, f.Parse())
	require.Equal(t, 2, f.Runs)
	require.Equal(t, 4, *n)
	require.Equal(t, "y.md", f.Out)
	require.Equal(t, "# X\n\n\tmake build bin/bench && bin/bench x -runs 2 -o y.md -n 4\n\n", f.Head("X", "build"))

	f = flags("-shared")
	require.NoError(t, f.Parse())
	require.Equal(t, 3, f.Runs)
	require.Equal(t, "docs/results/plots/p.svg", f.Beside("plots/p.svg"))
	require.Contains(t, f.Head("X"), "\tmake bin/bench && bin/bench x -shared\n\n**Other programs ran at the same time")

	for words, want := range map[*Flags]string{
		flags("-runs", "2", "x"): `stray argument "x"`,
		flags("-walks"):          "flag provided but not defined: -walks",
		flags("-runs", "0"):      "-runs 0: want 1 or more",
	} {
		require.EqualError(t, words.Parse(), want)
	}
	require.ErrorIs(t, flags("-h").Parse(), flag.ErrHelp)
	f = flags("-runs", "2", "x", "-runs")
	require.NoError(t, f.ParseLeading())
	require.Equal(t, []string{"x", "-runs"}, f.Args())
}

// A bench that measures nothing repeatedly has no -runs.
func TestFlagsWithoutRuns(t *testing.T) {
	f := flags("-runs", "2")
	f.Runs = 0
	require.ErrorContains(t, f.Parse(), "not defined: -runs")
}
