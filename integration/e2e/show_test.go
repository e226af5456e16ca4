package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/stdio"
)

// Files have the output of all ranks, and golaunch's own streams that of those which are to
// be shown.
//
//report:io pytorch/pytorch#117383, pytorch/pytorch#60911 the output of some ranks alone
func TestOutputIsShownAndInFiles(t *testing.T) {
	const program = "echo out $PMI_RANK; echo err $PMI_RANK >&2"
	for name, x := range map[string]struct {
		flags          []string
		stdout, stderr []string
	}{
		"tee":     {[]string{"--tee"}, []string{"out 0", "out 1", "out 2", "out 3"}, []string{"err 0", "err 1", "err 2", "err 3"}},
		"some":    {[]string{"--show", "1,3-3"}, []string{"out 1", "out 3"}, []string{"err 1", "err 3"}},
		"by host": {[]string{"--show", "local:0"}, []string{"out 0", "out 2"}, []string{"err 0", "err 2"}},
		"folded":  {[]string{"--show", "1-2", "--fold"}, []string{"out 1", "out 2"}, []string{"err 1", "err 2"}},
		"files":   {nil, []string{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			words := append([]string{"-n", "4", "--nodes", "2", "--log-dir", dir}, x.flags...)
			r := local(t, "", append(words, "sh", "-c", program)...)
			require.Zero(t, r.code, r.stderr)
			require.ElementsMatch(t, x.stdout, regexp.MustCompile(`out \d`).FindAllString(r.stdout, -1))
			require.ElementsMatch(t, x.stderr, regexp.MustCompile(`err \d`).FindAllString(r.stderr, -1))
			for _, rank := range []string{"0", "1", "2", "3"} {
				for _, stream := range []string{"out", "err"} {
					text, err := os.ReadFile(filepath.Join(dir, "attempt-0", rank+"."+stream))
					require.NoError(t, err)
					require.Equal(t, stream+" "+rank+"\n", string(text))
				}
			}
		})
	}
	r := local(t, "", "-n", "2", "--show", "1", "sh", "-c", program)
	require.Equal(t, "out 1\n", r.stdout)
	require.Equal(t, "err 1\n", r.stderr)
	r = local(t, "", "-n", "2", "--show", "2", "true")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "--show 2: there is no rank 2 among 2")
}

// A label has the time at which the line's first byte came, on the rank's node.
//
//report:io open-mpi/ompi#7710 the time of each line
func TestLabelWithTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	r := local(t, "", "-n", "2", "--label=%t %r|", "sh", "-c", "echo hello")
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.lines(), 2)
	for _, line := range r.lines() {
		at, err := time.Parse(stdio.TimeFormat, regexp.MustCompile(`^(\S+) [01]\|hello$`).FindStringSubmatch(line)[1])
		require.NoError(t, err, line)
		require.False(t, at.Before(before) || at.After(time.Now()), line)
	}
}
