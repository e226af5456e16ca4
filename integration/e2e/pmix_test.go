package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// pmixLimit bounds a job, which says then what each rank waits for.
const pmixLimit = "3m"

// pmixMPI is an MPI library whose ranks are served over PMIx.
type pmixMPI struct {
	suffix string   // of its programs
	flags  []string // golaunch's
}

func (m pmixMPI) bin(program string) string { return bin(program + m.suffix) }

// argv is a command line of golaunch's: its flags, those of the library, a program.
func (m pmixMPI) argv(flags []string, program string, args ...string) []string {
	argv := append(append([]string{"--timeout", pmixLimit}, flags...), m.flags...)
	return append(append(argv, m.bin(program)), args...)
}

// eachPMIx does something with each of the libraries.
func eachPMIx(t *testing.T, do func(t *testing.T, m pmixMPI)) {
	t.Run("Open MPI 4", func(t *testing.T) {
		needOpenMPI(t)
		do(t, pmixMPI{".openmpi", []string{"--pmix"}})
	})
	t.Run("Open MPI 5", func(t *testing.T) {
		needBuilt(t, "mpisum.openmpi5", "the packages of scripts/openmpi5.sh, which says why it could not")
		// It lies elsewhere than where it was installed, and finds its messages by
		// OPAL_PREFIX.
		do(t, pmixMPI{".openmpi5", []string{"-x", "OPAL_PREFIX=" + filepath.Join(programs.OpenMPI5(), "usr")}})
	})
}

// pmixFiles are files that PMIx and Open MPI make, which a job must not leave.
func pmixFiles(t *testing.T, c *cluster.Cluster, node string) string {
	t.Helper()
	return shell(t, c, node, `ls -A /tmp /dev/shm | grep -i -e pmix -e ompi -e prte -e openmpi -e vader -e sm_segment -e golaunch; true`)
}

// nothingOfPMIxLeft asserts that nodes have no process and no file of a job.
func nothingOfPMIxLeft(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	noFilesLeft(t, c, names...)
	for _, name := range names {
		require.Eventually(t, func() bool { return pmixFiles(t, c, name) == "" }, limit, 100*time.Millisecond, "left on %s", name)
	}
}

// Unmodified programs on nodes that have nothing of golaunch: the helper is brought.
func TestPMIxOverTheNetwork(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		r := over(t, c, 8, m.argv([]string{"-n", "64", "-N", "8", "--degree", "2", "--copy-agent", "-l"}, "mpisum", "-a")...)
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
		require.Len(t, r.lines(), 64)
		for i := range 64 {
			require.Contains(t, r.stdout, fmt.Sprintf("[%d] rank %d of 64 on n%03d: sum 2080 ok\n", i, i, i/8+1))
		}
		nothingOfPMIxLeft(t, c, firstNodes(c, 8)...)
	})
}

// Ranks that are dealt to nodes in turn, and nodes of different numbers of ranks.
func TestPMIxPlacements(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		for name, flags := range map[string][]string{
			"in turn":       {"-H", "n001,n002,n003", "-n", "7", "--map-by", "node"},
			"unequal":       {"-H", "n001:3,n002:1,n003:2", "-n", "6"},
			"a node unused": {"-H", "n001:2,n002:2,n003:2", "-n", "3"},
			"a spare":       {"-H", "n001,nowhere,n002", "--spares", "1", "-n", "4"},
		} {
			t.Run(name, func(t *testing.T) {
				r := onNode(t, c, cluster.Head, m.argv(append(flags, "--ssh-config", c.SSHConfig()), "mpisum", "-a")...)
				require.Zero(t, r.code, r.stderr)
				require.Contains(t, r.stdout, "ok\n")
			})
		}
		nothingOfPMIxLeft(t, c, firstNodes(c, 3)...)
	})
}

func TestPMIxHere(t *testing.T) {
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		for name, args := range map[string][]string{
			"by its path":              m.argv(nil, "mpisum", "-a"),
			"along the ranks' PATH":    append(append([]string{"-x", "PATH=" + built + ":/usr/bin:/bin"}, m.flags...), "mpisum"+m.suffix, "-a"),
			"on nodes of this machine": m.argv([]string{"--nodes", "2"}, "mpisum", "-a"),
			"inside a script":          append(append([]string{"--pmix"}, m.flags...), "sh", "-c", "exec "+m.bin("mpisum")+" -a"),
			"as two commands":          append(m.argv([]string{"-n", "1"}, "mpisum", "-a"), ":", "-n", "1", m.bin("mpisum"), "-a"),
		} {
			t.Run(name, func(t *testing.T) {
				if name != "as two commands" {
					args = append([]string{"-n", "2"}, args...)
				}
				twoRanksAddUp(t, args...)
			})
		}
	})
}

// Worlds of this machine, on one node of it and on two, talk over its own network.
func TestPMIxWorldsHere(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		r := local(t, "", m.argv([]string{"-n", "2"}, "mpiworlds", "spawn", "2")...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "2 and 2 ranks: sum 10 ok\n", r.stdout)
		r = local(t, "", m.argv([]string{"-n", "1", "--nodes", "2"}, "mpiworlds", "add", host+".1", "2")...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.lines(), "1 and 2 ranks: sum 6 ok")
	})
}

// Clients of PMIx without MPI, which fetch each value from where it is.
func TestPMIxClients(t *testing.T) {
	c := theCluster(t)
	for program, packages := range map[string]string{"pmixclient": "libpmix-dev", "pmixclient.openmpi5": "the packages of scripts/openmpi5.sh"} {
		t.Run(program, func(t *testing.T) {
			needBuilt(t, program, packages)
			for name, args := range map[string][]string{
				"a fence that collects": {"-m", "all", "-n", "3"},
				"direct modex":          {"-m", "all", "-n", "3", "-d"},
				"long values":           {"-m", "all", "-l", "100000"},
				"long values, direct":   {"-m", "across", "-l", "1000000", "-d"},
			} {
				t.Run(name, func(t *testing.T) {
					r := over(t, c, 8, append([]string{"-n", "32", "-N", "4", "--degree", "2", "--timeout", pmixLimit, bin(program)}, args...)...)
					require.Zero(t, r.code, r.stderr)
					require.Empty(t, r.stderr)
					require.Len(t, r.lines(), 32)
					require.Contains(t, r.lines(), "rank 31 of 32 ok")
				})
			}
			nothingOfPMIxLeft(t, c, firstNodes(c, 8)...)
		})
	}
}

// Sessions of MPI 4, two at once, without MPI_Init.
func TestMPISessions(t *testing.T) {
	needBuilt(t, "mpisessions.openmpi5", "the packages of scripts/openmpi5.sh")
	c := theCluster(t)
	r := over(t, c, 4, "-n", "8", "-N", "2", "--timeout", pmixLimit, bin("mpisessions.openmpi5"))
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `^8 ranks and 1: sum 36 ok, \d+ process sets\n$`, r.stdout)
	nothingOfPMIxLeft(t, c, firstNodes(c, 4)...)
}

// OpenPMIx's own clients and examples that pass under an mpirun of Open MPI's, too.
func TestOpenPMIxClients(t *testing.T) {
	cmd := exec.Command("../../scripts/pmixtests.sh")
	var output strings.Builder
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("skipped: OpenPMIx's clients were not built: %s", output.String())
	}
	dir := strings.TrimSpace(string(out))
	for _, program := range []string{ // not doubleget, which asks for keys that its peer may not have put yet
		"simpclient", "simpcycle", "simppub", "simptimeout", "simpvni", "simpio", "simpcoord", "simpfabric", "simpsched",
		"get_put_example", "hybrid", "asyncio", "group", "group_dmodex", "group_lcl_cid", "asyncgroup", "client", "client2",
		"dmodex", "dynamic", "hello", "jctrl", "log", "nodeinfo", "pub", "pubi", "abi_no_init", "abi_with_init",
	} {
		t.Run(program, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
				t.Skipf("skipped: %s is not of this version of PMIx", program)
			}
			r := local(t, "", "-n", "2", "--timeout", pmixLimit, filepath.Join(dir, program))
			require.Zero(t, r.code, "%s%s", r.stdout, r.stderr)
		})
	}
}

// A rank that connects as another of its node is named, and the job ends: ranks would wait
// for it for ever.
func TestPMIxRanksConnectAsThemselves(t *testing.T) {
	for program, packages := range map[string]string{"pmixclient": "libpmix-dev", "pmixclient.openmpi5": "the packages of scripts/openmpi5.sh"} {
		t.Run(program, func(t *testing.T) {
			needBuilt(t, program, packages)
			for liar, as := range map[string]string{"0": "1", "1": "0"} {
				for _, prefix := range []string{"exec ", "setsid -w "} {
					script := "[ $PMIX_RANK = " + liar + " ] && export PMIX_RANK=" + as + "; " + prefix + bin(program)
					r := local(t, "", "--timeout", pmixLimit, "-n", "4", "--nodes", "2", "--pmix", "sh", "-c", script)
					require.Equal(t, 125, r.code, "%s: %s", script, r.stderr)
					require.Regexp(t, `(?m)^golaunch: rank `+liar+` on \S+ \(pid \d+\) broke the protocol of PMIx: it has connected as rank `+as+`: has it changed PMIX_RANK\?$`, r.stderr)
				}
			}
		})
	}
}
