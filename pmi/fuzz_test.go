package pmi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/pmi"
)

// No bytes from a rank, however cut, may panic, hang, disturb another rank or
// be answered with anything but well-formed lines, and the cut must not matter.
func FuzzReceive(f *testing.F) {
	f.Add(conversation, 10)
	f.Add(initLine+"\n"+put("k", "v")+"\ncmd=barrier_in\n    14cmd=x;", 3)
	f.Add("mcmd=spawn\ntotspawns=1\nspawnssofar=1\nendcmd\n", 1)
	seeds, err := filepath.Glob(filepath.Join(traces, "*", "*.0.txt"))
	require.NoError(f, err)
	for _, path := range seeds { // none without the project's shared data
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		var said strings.Builder
		for _, line := range strings.Split(string(text), "\n") {
			if _, c, found := strings.Cut(line, "C->S "); found {
				said.WriteString(strings.TrimSuffix(c, `\n`) + "\n")
			}
		}
		f.Add(said.String(), 64)
	}
	f.Fuzz(func(t *testing.T, data string, cut int) {
		whole := newWorld(t, 1, 1, nil)
		whole.send(0, data)
		w := newWorld(t, 1, 1, nil)
		if cut = max(cut, 1); len(data)/cut > 10000 {
			cut = len(data)
		}
		for rest := data; rest != ""; {
			n := min(cut, len(rest))
			w.send(0, rest[:n])
			rest = rest[n:]
		}
		replies := whole.take(0)
		require.Equal(t, replies, w.take(0))
		require.Equal(t, whole.aborts, w.aborts)
		require.Equal(t, len(whole.violations), len(w.violations))
		if replies == "" {
			return
		}
		for _, line := range strings.Split(replies, "\n") {
			require.True(t, strings.HasPrefix(line, "cmd="), line)
			require.Less(t, len(line), 64+pmi.MaxValue)
		}
	})
}
