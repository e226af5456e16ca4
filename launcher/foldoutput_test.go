package launcher

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestEqualOutputIsShownOnce(t *testing.T) {
	var out bytes.Buffer
	f, err := newFold(&out)
	require.NoError(t, err)
	defer f.close()
	names := []string{"n1", "n2", "n3"}
	add := func(world int, rank job.Rank, host job.HostIndex, text string) {
		t.Helper()
		require.NoError(t, f.add(job.RankID{World: world, Rank: rank}, host, names[host], []byte(text)))
	}
	add(0, 4, 2, "other")
	add(0, 0, 0, "one\n")
	add(0, 1, 0, "one\ntwo\n")
	add(0, 0, 0, "two\n")
	add(0, 2, 1, "one\ntw")
	add(0, 3, 1, "")
	add(0, 2, 1, "o\n")
	add(0, 5, 2, "one\ntwo\n")
	add(1, 1, 2, "one\ntwo\n")
	require.NoError(t, f.show())
	line := "----------------\n"
	want := line + "ranks 0-2,5,1.1 on n[1-3]\n" + line + "one\ntwo\n" + line + "rank 4 on n3\n" + line + "other\n"
	require.Equal(t, want, out.String())
	require.NoError(t, f.show())
	require.Equal(t, want, out.String(), "nothing is shown twice")
}

// brokenWriter takes nothing, and counts how often it is asked.
type brokenWriter struct{ asked int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.asked++
	return 0, io.ErrClosedPipe
}

func TestWhatCannotBeShownIsNotShownAgain(t *testing.T) {
	to := &brokenWriter{}
	f, err := newFold(to)
	require.NoError(t, err)
	defer f.close()
	require.NoError(t, f.add(job.RankID{}, 0, "n1", bytes.Repeat([]byte("x"), 1<<16)))
	require.ErrorIs(t, f.show(), io.ErrClosedPipe)
	require.NoError(t, f.show())
	require.Equal(t, 1, to.asked)
}
