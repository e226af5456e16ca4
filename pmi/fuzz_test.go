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
	for _, path := range seeds {
		f.Add(clientSaid(f, path), 64)
	}
	f.Add(conversation2, 5)
	f.Add(initLine+"\n"+conversation2+conversation, 17)
	f.Fuzz(func(t *testing.T, data string, cut int) { anyBytes(t, data, cut) })
}

// The same for the text of PMI-2 messages, whose lengths are right here.
func FuzzMessages(f *testing.F) {
	for _, text := range split(f, strings.TrimPrefix(conversation2, init2+"\n")) {
		f.Add(text, "cmd=kvs-fence;", 9)
	}
	f.Add("cmd=spawn;ncmds=1;preputcount=1;ppkey0=k;ppval0=v;subcmd=x;maxprocs=2;argc=1;argv0=a;infokeycount=0;", "cmd=abort;", 1)
	f.Fuzz(func(t *testing.T, first, second string, cut int) {
		anyBytes(t, init2+"\n"+frame(first)+frame(second)+frame("cmd=job-getid;"), cut)
	})
}

// clientSaid returns all that one recorded client sent.
func clientSaid(t testing.TB, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var said strings.Builder
	for line := range strings.Lines(string(text)) {
		_, c, found := strings.Cut(strings.TrimSuffix(line, "\n"), "C->S ")
		switch {
		case !found || c == "<EOF>":
		case framed(c):
			said.WriteString(c)
		default:
			said.WriteString(strings.TrimSuffix(c, `\n`) + "\n")
		}
	}
	return said.String()
}

// anyBytes sends data whole and in pieces, and looks at what comes back.
func anyBytes(t *testing.T, data string, cut int) {
	if cut = max(cut, 1); len(data)/cut > 10000 {
		cut = len(data)
	}
	whole := newWorld(t, 1, 1, nil)
	whole.send(0, data)
	w := newWorld(t, 1, 1, nil)
	for rest := data; rest != ""; {
		n := min(cut, len(rest))
		w.send(0, rest[:n])
		rest = rest[n:]
	}
	replies, inPieces := whole.take(0), w.take(0)
	// Requests of a client's threads may be answered in any order.
	if !strings.Contains(data, "thrid=") {
		require.Equal(t, replies, inPieces)
		require.Equal(t, whole.aborts, w.aborts)
		require.Equal(t, whole.notes, w.notes)
		require.Equal(t, whole.spawns, w.spawns)
		require.Equal(t, len(whole.violations), len(w.violations))
	}
	for _, reply := range split(t, replies) {
		require.True(t, strings.HasPrefix(reply, "cmd="), reply)
		require.Less(t, len(reply), 200+4*pmi.MaxValue) // a semicolon is doubled, a lookup answers twice
	}
}
