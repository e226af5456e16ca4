package results

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbers(t *testing.T) {
	got, err := Numbers("nodes", "8,32,64", 1)
	require.NoError(t, err)
	require.Equal(t, []int{8, 32, 64}, got)
	for _, wrong := range []string{"", "8,", "8, 9", "1", "x", "99999999999999999999"} {
		_, err := Numbers("nodes", wrong, 2)
		require.EqualError(t, err, `-nodes "`+wrong+`": not a list of numbers from 2 on`)
	}
}

func TestParse(t *testing.T) {
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	runs := f.Int("runs", 1, "")
	require.NoError(t, Parse(f, []string{"-runs", "2"}))
	require.Equal(t, 2, *runs)
	require.EqualError(t, Parse(f, []string{"-runs", "2", "x"}), `stray argument "x"`)
	require.ErrorContains(t, Parse(f, []string{"-walks"}), "not defined: -walks")
	require.ErrorIs(t, Parse(f, []string{"-h"}), flag.ErrHelp)
}

func TestWriteMakesFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "docs", "results", "x.md")
	require.NoError(t, Write(file, "# X\n"))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# X\n", string(b))
}

func TestParts(t *testing.T) {
	all := []string{"one", "two", "three"}
	for list, want := range map[string][]string{"": all, "two": {"two"}, "three,one": {"three", "one"}} {
		got, err := Parts(list, all)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := Parts("one,four", all)
	require.EqualError(t, err, `-parts: "four" is none of one, two, three`)
}
