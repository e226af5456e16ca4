package bulk

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link/tlslink"
)

// 64 agents call, are sent to their parents in a tree of degree 4, and run a job
// with PMI and output.
func TestAgentsCall(t *testing.T) {
	const n = 64
	r := start(t, setting{Hosts: names(n), Ranks: 2 * n, Degree: 4, Program: []string{filepath.Join(built, "pmiclient")}})
	require.Zero(t, r.wait(), r.stderr.String())
	var want []string
	for i := range 2 * n {
		want = append(want, fmt.Sprintf("[%d] rank %d of %d ok", i, i, 2*n))
	}
	require.ElementsMatch(t, want, r.lines())
	require.Empty(t, r.stderr.String())
	r.nothingLeft()
}

// The exit code of a rank comes through, and what a rank leaves behind is ended.
func TestExitCode(t *testing.T) {
	r := start(t, setting{Hosts: names(5), Degree: 2, Program: []string{"sh", "-c", "sleep 1000 & [ $RANK != 3 ] || exit 7"}})
	require.Equal(t, 7, r.wait(), r.stderr.String())
	require.Contains(t, r.stderr.String(), "rank 3 on h3")
	r.nothingLeft()
}

// Hosts whose agents never call are named, each with what is known of it.
func TestHostsThatNeverCall(t *testing.T) {
	s := setting{
		Hosts: names(9), Degree: 2, Program: []string{"sh", "-c", "echo of $PMI_SIZE"}, Connect: 10 * time.Second,
		Script: `case $h in h0) echo "no room" >&2; exit 3;; h4) exit 0;; h5) exec sleep 1000;; esac;`,
	}
	r := start(t, s)
	require.Equal(t, 125, r.wait(), r.stderr.String())
	for _, words := range []string{
		"3 of 9 hosts", "host h0: run command: exit status 3: no room\n",
		"hosts h[4-5]: connect: its agent has not called within 10s", "--connect-timeout",
	} {
		require.Contains(t, r.stderr.String(), words)
	}
	require.Empty(t, r.stdout.String())
	r.nothingLeft()

	s.Allow = true
	r = start(t, s)
	require.Zero(t, r.wait(), r.stderr.String())
	require.Equal(t, 6, strings.Count(r.stdout.String(), "of 6\n"), r.stdout.String())
	r.nothingLeft()
}

// Strangers at the launcher's port are refused and named, and harm nobody.
func TestStrangersAtTheLauncher(t *testing.T) {
	r, open := held(t, false)
	args := r.agent("h3").args
	addr := args[slices.Index(args, "--dial")+1]
	for range 100 { // silent ones, held open: more than may be pending
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
	}
	_, err := tlslink.Dial(t.Context(), addr, tlslink.NewSecret())
	require.ErrorContains(t, err, "refused")
	open()
	require.Zero(t, r.wait(), r.stderr.String())
	require.Equal(t, size, strings.Count(r.stdout.String(), "of 15\n"), r.stdout.String())
	require.Contains(t, r.stderr.String(), "refused 127.0.0.1:")
	require.Contains(t, r.stderr.String(), "had not proved itself when its place was needed")
	r.nothingLeft()
}

// Of each secret nothing shows in a command line or in an environment.
func TestTheSecretIsHidden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	r := start(t, setting{
		Hosts: names(2), Program: []string{"sh", "-c", "echo up; exec sleep 1000"},
		Script: `case $h in h1) umask 077; cat > ` + file + `; exec "$@" --secret-file ` + file + ` < /dev/null;; esac;`,
	})
	r.eventually("the ranks run", func() bool { return len(r.lines()) == 2 })
	secret, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, secret, 65)
	for _, p := range r.processes() {
		for _, name := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, name))
			require.NoError(t, err)
			require.NotContains(t, string(b), string(secret[:64]))
		}
	}
}
