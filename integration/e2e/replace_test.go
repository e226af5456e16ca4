package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// substitutes are jobs on six nodes of which n002 is dead, and which hosts they run on.
var substitutes = []struct {
	name     string
	args     []string
	want     []string // hosts of the ranks, in order
	messages []string
}{
	{"one", []string{"-H", "n[001-006]", "-n", "3"}, []string{"n001", "n004", "n003"},
		[]string{"1 of 3 hosts could not be started:\n", "host n002: connect: ", "golaunch: host n004 takes the place of n002\n"}},
	{"the root", []string{"-H", "n002,n001,n[003-006]", "-n", "2"}, []string{"n003", "n001"},
		[]string{"golaunch: host n003 takes the place of n002\n"}},
	{"all", []string{"-H", "nowhere,nobody,n[003-006]", "-n", "2"}, []string{"n003", "n004"},
		[]string{"2 of 2 hosts could not be started:\n", "golaunch: hosts n[003-004] take the place of nowhere,nobody\n"}},
	{"one that replaces", []string{"-H", "nobody,n001,n002,nowhere,n[003-005]:1", "-n", "2", "--degree", "1"}, []string{"n003", "n001"},
		[]string{"1 of 2 hosts could not be started:\n", "1 of 1 host could not be started:\n", "1 of 2 hosts could not be started:\n", "host n003 takes the place of nobody\n"}},
	{"smaller slots", []string{"-H", "n002:4,n001:2,n003:2,n004:2", "-n", "4"}, []string{"n001", "n001", "n003", "n003"},
		[]string{"golaunch: hosts n[001,003] take the place of n002\n"}},
	{"a spare is dead too", []string{"-H", "nobody,n001,n002,n[003-006]", "-n", "2", "--spares", "1"}, []string{"n003", "n001"},
		[]string{"2 of 3 hosts could not be started:\n", "golaunch: host n003 takes the place of nobody\n"}},
	{"files", []string{"-H", "n[001-006]", "-n", "3", "--stage", "/etc/hostname"}, []string{"n001", "n004", "n003"}, nil},
}

// Hosts of the list that no rank needs take the place of dead ones, before slots are
// said to be missing.
func TestUnusedHostsReplaceDeadOnes(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 6)
	require.NoError(t, c.Kill("n002"))
	run := func(t *testing.T, args ...string) result {
		t.Helper()
		return onNode(t, c, cluster.Head, append([]string{"--ssh-config", c.SSHConfig(), "--allow-dead-nodes"}, args...)...)
	}
	t.Run("beside each other", func(t *testing.T) {
		for _, x := range substitutes {
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				dir, err := os.MkdirTemp(built, "replace-")
				require.NoError(t, err)
				r := run(t, append(append([]string{"-l", "--trace", dir + "/trace", "--report", dir + "/report"}, x.args...),
					"sh", "-c", `test -z "$GOLAUNCH_STAGE_DIR" || test -f "$GOLAUNCH_STAGE_DIR/hostname" && hostname`)...)
				require.Zero(t, r.code, r.stderr)
				var want []string
				for rank, host := range x.want {
					want = append(want, fmt.Sprintf("[%d] %s", rank, host))
				}
				require.ElementsMatch(t, want, r.lines(), r.stderr)
				for _, phrase := range x.messages {
					require.Contains(t, r.stderr, phrase)
				}
				require.NotContains(t, r.stderr, "without")
			})
		}
		// The tree that has grown is as any other.
		grown := []string{"-H", "n001,n002,n003,n004:1", "-n"}
		for name, line := range map[string][]string{"PMI": {"--cache", "distributed", bin("pmiclient"), "-m", "all"}, "the tree's service": {bin("tour")}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := run(t, slices.Concat(grown, []string{"3"}, line)...)
				require.Zero(t, r.code, r.stderr)
			})
		}
		soon := []string{"--connect-timeout", "15s"} // nobody takes n002's place: it is waited for
		t.Run("too few", func(t *testing.T) {
			t.Parallel()
			r := run(t, slices.Concat(soon, grown, []string{"4", "hostname"})...)
			require.Equal(t, 125, r.code)
			require.Contains(t, r.stderr, "without n002: not enough slots: 4 ranks, 3 slots on 3 hosts of -H, 1 missing")
		})
		// With a bootstrap that needs relays there is nobody to start them.
		t.Run("relays", func(t *testing.T) {
			t.Parallel()
			r := onNode(t, c, cluster.Head, slices.Concat(viaSSH(c), soon, []string{"--allow-dead-nodes", "-H", "n001,n002,n005", "-n", "2", "hostname"})...)
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, "n001\nn001\n", r.stdout)
			require.Equal(t, 1, strings.Count(r.stderr, "could not be started"), r.stderr)
		})
	})
	nothingLeft(t, c, firstNodes(c, 6)...)
}

// A host that dies while others are started for a dead one is dead, too.
func TestAHostDiesAsOthersAreReplaced(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 6)
	require.NoError(t, c.Kill("n002"))
	require.NoError(t, c.Partition("n004"))
	cmd := c.Command(cluster.Head, bin("golaunch"), "--ssh-config", c.SSHConfig(), "--allow-dead-nodes", "-v", "--connect-timeout", "12s", "-H", "n[001-006]", "-n", "3", "hostname")
	var out bytes.Buffer
	cmd.Stdout = &out
	lines, ended := hear(t, cmd, cmd.Cmd, func(line string) {
		if strings.Contains(line, "starting agents on 1 more host of the list") {
			require.NoError(t, c.Kill("n003")) // n004 does not answer yet
		}
	})
	require.NoError(t, ended, lines)
	require.ElementsMatch(t, []string{"n001", "n005", "n006"}, strings.Fields(out.String()))
	require.Contains(t, lines, "golaunch: 2 of 2 hosts could not be started:")
	require.Contains(t, lines, "golaunch: hosts n[005-006] take the place of n[002-003]")
}
