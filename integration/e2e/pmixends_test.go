package e2e

import (
	"bufio"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// isHelper tells the command line of a PMIx helper.
func isHelper(words []string) bool {
	// It may be run by a dynamic linker, whose argument it is then.
	for i, w := range words {
		if w == "--library" && i >= 2 && words[i-2] == "--fd" || w == "--fd" && i+2 < len(words) && words[i+2] == "--library" {
			return true
		}
	}
	return false
}

func TestPMIxAbort(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		r := over(t, c, 2, m.argv([]string{"-n", "4", "-N", "2"}, "mpiabort", "2", "9")...)
		require.Equal(t, 9, r.code, r.stderr)
		require.Contains(t, r.stderr, "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD")
		require.Regexp(t, `(?m)^golaunch: rank 2 on n002 \(pid \d+\) called abort with code 9$`, r.stderr)
		nothingOfPMIxLeft(t, c, firstNodes(c, 2)...)
	})
}

// A rank ends while the others wait for it: it is to blame, though its peers may abort
// before its end is known.
func TestPMIxTheCulpritIsNamed(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		for name, x := range map[string]struct {
			code    int
			message string
		}{
			"collective": {9, "exited with code 9"},
			"exit":       {3, "exited with code 3"},
			"kill":       {128 + 9, `was killed by signal 9 \(killed\)`},
			"segv":       {128 + 11, `was killed by signal 11 \(segmentation fault\)`},
		} {
			t.Run(name, func(t *testing.T) {
				for _, rank := range []string{"0", "3"} {
					r := over(t, c, 4, m.argv([]string{"-n", "4", "-N", "1", "--degree", "2"}, "mpidie", rank, name)...)
					require.Equal(t, x.code, r.code, r.stderr)
					require.Regexp(t, `(?m)^golaunch: rank `+rank+` on n00\d \(pid \d+\) `+x.message, r.stderr)
					require.NotRegexp(t, `(?m)^golaunch: rank [^`+rank+`] `, r.stderr)
				}
			})
		}
		t.Run("late", func(t *testing.T) {
			r := over(t, c, 3, m.argv([]string{"-n", "3"}, "mpidie", "1", "late")...)
			require.Equal(t, 3, r.code, r.stderr)
			require.ElementsMatch(t, []string{"rank 0 is through", "rank 2 is through"}, r.lines())
			require.Regexp(t, `(?m)^golaunch: rank 1 on n002 \(pid \d+\) exited with code 3, after finalize$`, r.stderr)
		})
		nothingOfPMIxLeft(t, c, firstNodes(c, 4)...)
	})
}

// Any part of a job that is killed while ranks wait in PMIx ends the job, and leaves
// none of its processes and files on any node.
func TestPMIxKilledPartsLeaveNothing(t *testing.T) {
	t.Parallel()
	const n = 3
	c := ownCluster(t, n)
	find := func(match func([]string) bool) func(t *testing.T) {
		return func(t *testing.T) {
			require.NoError(t, awaitProc(t, c, "n002", match).Signal(syscall.SIGKILL))
		}
	}
	blows := map[string]struct {
		strike  func(t *testing.T)
		code    int
		message string
	}{
		"a rank": {find(func(w []string) bool {
			return len(w) > 0 && strings.HasPrefix(w[0], built) && strings.Contains(w[0], "pmixclient") // none of one that ends
		}), 137, `rank [23] on n002 \(pid \d+\) was killed by signal 9`},
		"the helper":   {find(isHelper), 125, `host n002 .*PMIx helper`},
		"the agent":    {func(t *testing.T) { kill(t, c, "n002", "nla-agent") }, 125, `host n002 `},
		"the launcher": {nil, -1, ""},
	}
	for program, packages := range map[string]string{"pmixclient": "libpmix-dev", "pmixclient.openmpi5": "the packages of scripts/openmpi5.sh"} {
		for _, call := range []string{"fence", "connect", "spawn"} {
			for name, b := range blows {
				t.Run(program+" in "+call+": "+name, func(t *testing.T) {
					needBuilt(t, program, packages)
					waiting := map[string]int{"fence": 5, "connect": 5, "spawn": 1}[call]
					r := waiters(t, c, waiting, bin(program), "-x", call)
					if b.strike == nil {
						require.NoError(t, r.cmd.Process.Kill())
					} else {
						b.strike(t)
					}
					require.Equal(t, b.code, r.wait(t), r.stderr.String())
					require.Regexp(t, b.message, r.stderr.String())
					nothingOfPMIxLeft(t, c, firstNodes(c, n)...)
				})
			}
		}
	}
}

// TestKeepGoingWithoutAHelper has a node that has no room for its PMIx helper: its ranks
// never start, and the others would wait for them in MPI_Init for ever.
func TestKeepGoingWithoutAHelper(t *testing.T) {
	t.Parallel()
	needBuilt(t, "pmixclient", "libpmix-dev")
	const n = 2
	c := ownCluster(t, n)
	shell(t, c, "n002", "for d in /dev/shm /tmp; do mount -o remount,size=2m $d; done; mkdir -p ~/.cache; mount -t tmpfs -o size=2m none ~/.cache")
	r := over(t, c, n, "--keep-going", "--timeout", pmixLimit, "--pmix", "-n", "4", "-N", "2", bin("pmixclient"))
	require.Equal(t, 125, r.code, r.stderr)
	require.Regexp(t, `rank 2 on n002 was not started: .*no space left on device`, r.stderr)
	nothingOfPMIxLeft(t, c, firstNodes(c, n)...)
}

// A helper that is stopped before its ranks reach it is named, with what lets it go on.
func TestPMIxHelperThatIsStopped(t *testing.T) {
	needBuilt(t, "pmixclient", "libpmix-dev")
	stop := `for p in /proc/[0-9]*; do
		grep -q "^PPid:.$PPID$" $p/status 2>/dev/null && tr '\0' ' ' <$p/cmdline | grep -q -- ' --fd [3] --library ' && kill -STOP ${p#/proc/}
	done; exec ` + bin("pmixclient")
	cmd := exec.Command(bin("golaunch"), "--pmix", "-n", "1", "--stall-after", "3s", "sh", "-c", stop)
	silent := regexp.MustCompile(`^golaunch: host \S+: the PMIx helper \(golaunch-pmix, \S*libpmix\S+, pid (\d+)\) has not answered for 3s: .* \(kill -CONT (\d+)\)`)
	lines, ended := hear(t, cmd, cmd, func(line string) {
		if m := silent.FindStringSubmatch(line); m != nil {
			require.Equal(t, m[1], m[2])
			pid, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}
	})
	require.NoError(t, ended, "%v", lines)
	require.Len(t, lines, 2)
	require.Regexp(t, silent, lines[0])
	require.Contains(t, lines[1], "answers again")
}

// waiters starts six ranks on three nodes and waits until so many have said that they
// enter what never ends.
func waiters(t *testing.T, c *cluster.Cluster, waiting int, program ...string) *running {
	t.Helper()
	argv := append([]string{bin("golaunch"), "-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "-n", "6", "-N", "2", "--degree", "2", "--timeout", pmixLimit}, program...)
	r := &running{cmd: c.Command(cluster.Head, argv...)}
	r.cmd.Stderr = &r.stderr
	pipe, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, r.cmd, r.cmd.Cmd)
	r.out = bufio.NewReader(pipe)
	for range waiting {
		line, err := r.out.ReadString('\n')
		require.NoError(t, err, r.stderr.String())
		require.Contains(t, line, " enters")
	}
	return r
}
