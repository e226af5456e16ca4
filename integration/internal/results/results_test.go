package results

import (
	"context"
	"errors"
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

func TestWriteMakesFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "docs", "results", "x.md")
	require.NoError(t, Write(file, "# X\n"))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# X\n", string(b))
}

// A run that failed, or was interrupted, leaves the page of the last one alone.
func TestConclude(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.md")
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	part := filepath.Join(file+".partial", "x.md")
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	broken := errors.New("no cluster")
	require.NoError(t, Conclude(t.Context(), file, "first", nil))
	require.Equal(t, "first", read(file))

	err := Conclude(t.Context(), file, "second", broken)
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "no cluster: what came of it is in "+part)
	require.Equal(t, "first", read(file))
	require.Equal(t, "second", read(part))

	require.ErrorIs(t, Conclude(interrupted, file, "third", nil), context.Canceled)
	require.Equal(t, "first", read(file))
	require.Equal(t, "third", read(part))

	require.NoError(t, Conclude(t.Context(), file, "fourth", nil))
	require.Equal(t, "fourth", read(file))
	require.NoDirExists(t, file+".partial")
}

// An error names the page of its own run alone.
func TestLeft(t *testing.T) {
	file, broken := filepath.Join(t.TempDir(), "x.md"), errors.New("no cluster")
	require.Equal(t, broken, Left(file, broken))
	require.NoError(t, Write(Partial(file), "page"))
	require.EqualError(t, Left(file, broken), "no cluster: what came of it is in "+Partial(file))
	require.NoError(t, Done(file))
	require.Equal(t, broken, Left(file, broken))
	for _, output := range []string{"", "-"} {
		require.Equal(t, output, Partial(output))
		require.Equal(t, broken, Left(output, broken))
		require.NoError(t, Done(output))
	}
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
