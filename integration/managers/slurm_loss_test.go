package managers

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link/tlslink"
)

// held has a script wait until the test lets it go on.
func held(s *site) (wait string, goOn func()) {
	file := filepath.Join(s.dir, "go")
	return "echo held; while [ ! -e " + file + " ]; do sleep 0.1; done; ", func() {
		require.NoError(s.t, os.WriteFile(file, nil, 0o644))
	}
}

// A node that died before golaunch is named; with a flag that allows it the others go on,
// though srun ends their agents with it.
func TestANodeIsDeadAtLaunch(t *testing.T) {
	t.Parallel()
	s := ownSite(t, 4)
	wait, goOn := held(s)
	j := s.submit(wait+`
golaunch -l hostname; echo without $?
golaunch --allow-dead-nodes -n 8 --map-by node -l hostname; echo allowed $?
golaunch --spares 1 -n 9 -N 3 -l hostname; echo third $?`, "-N4", "--ntasks-per-node=4", "--no-kill")
	j.says("held", 1)
	require.NoError(t, s.Kill("n003"))
	goOn()
	j.says("third ", 1)
	out := j.output()
	require.Contains(t, out, "without 125\n")
	require.Contains(t, out, "allowed 0\n")
	require.Contains(t, out, "third 0\n")
	require.Regexp(t, `host n003: connect: srun starts nothing there: `, out)
	first, rest, _ := strings.Cut(out, "without 125\n")
	require.Empty(t, lines(first))
	allowed, spares, _ := strings.Cut(rest, "allowed 0\n")
	require.Len(t, lines(allowed), 8, out)
	require.Len(t, lines(spares), 9, out)
	require.NotContains(t, strings.Join(lines(out), "\n"), "n003")
	j.nothingLeft()
}

// A node that dies while ranks run, or falls silent, of which srun says nothing for long.
func TestANodeDiesLater(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(*site) error{
		"dies":   func(s *site) error { return s.Kill("n002") },
		"silent": func(s *site) error { return s.Partition("n002") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownSite(t, 3)
			j := s.submit(`golaunch --lost-after 5s -l sh -c "echo up; exec sleep 1000"; echo status $?`, "-N3", "--ntasks-per-node=1", "--no-kill")
			j.says("] up\n", 3)
			require.NoError(t, strike(s))
			j.says("status ", 1)
			require.Contains(t, j.output(), "status 125\n")
			require.Contains(t, j.output(), "n002")
			require.NoError(t, s.Heal("n002"))
			j.nothingLeft()
		})
	}
}

// golaunch listens at one address of the node's, and only until the ranks start; a
// stranger is refused there.
func TestListeningEnds(t *testing.T) {
	t.Parallel()
	s := ownSite(t, 2)
	wait, goOn := held(s)
	j := s.submit(wait+`golaunch -l sh -c "echo up; exec sleep 1000"; echo status $?`, "-N2", "--ntasks-per-node=1")
	j.says("held", 1)
	stop := func(sig syscall.Signal) {
		procs, err := s.Processes("n002")
		require.NoError(t, err)
		for _, p := range procs {
			if strings.HasSuffix(strings.Join(p.Cmdline, " "), "slurmd") {
				require.NoError(t, p.Signal(sig))
			}
		}
	}
	stop(syscall.SIGSTOP) // so that the start takes until it goes on
	goOn()
	addr := ""
	j.eventually("golaunch listens", func() bool {
		for _, p := range j.processes("n001") {
			if i := slices.Index(p.Cmdline, "--dial"); i >= 0 && i+1 < len(p.Cmdline) {
				addr = p.Cmdline[i+1]
				return true
			}
		}
		return false
	})
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	node, err := s.Node("n001")
	require.NoError(t, err)
	require.Equal(t, node.Addr.String(), host)
	require.Equal(t, []string{addr}, s.listening("n001", port))

	other, err := s.Node("n002")
	require.NoError(t, err)
	out, err := s.Command("n002", bin("stranger"), strangerWord, addr).CombinedOutput()
	require.Error(t, err, string(out))
	require.Contains(t, string(out), "refused")
	stop(syscall.SIGCONT)
	j.says("] up\n", 2)
	require.Empty(t, s.listening("n001", port))
	require.Contains(t, j.output(), ": refused "+other.Addr.String()+":")
	_, _ = s.head("scancel", "--signal=KILL", j.id)
	j.wait()
}

// strangerWord makes the test binary one who calls golaunch with another secret.
const strangerWord = "managers-test-stranger"

func stranger(addr string) int {
	conn, err := tlslink.Dial(context.Background(), addr, tlslink.NewSecret())
	if err != nil {
		println(err.Error())
		return 1
	}
	conn.Close()
	return 0
}

// listening are the local addresses with a port at which somebody listens on a node.
func (s *site) listening(node, port string) (found []string) {
	s.t.Helper()
	out, err := s.Command(node, "ss", "--no-header", "--listening", "--tcp", "--numeric", "sport", "=", ":"+port).Output()
	require.NoError(s.t, err)
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 3 {
			found = append(found, f[3])
		}
	}
	return found
}
