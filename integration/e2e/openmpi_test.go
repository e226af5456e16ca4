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

	"github.com/golaunch/golaunch/integration/internal/trial"
)

// needBuilt skips where a native program was not built for want of a library.
func needBuilt(t *testing.T, program, packages string) {
	t.Helper()
	if _, err := os.Stat(bin(program)); err != nil {
		t.Skipf("skipped: %s was not built; apt-get install %s", program, packages)
	}
}

func needOpenMPI(t *testing.T) {
	t.Helper()
	needBuilt(t, "mpisum.openmpi", "openmpi-bin libopenmpi-dev")
}

// An unmodified Open MPI 4 program, on nodes that have nothing of golaunch.
func TestOpenMPIOverTheNetwork(t *testing.T) {
	needOpenMPI(t)
	c := theCluster(t)
	r := over(t, c, 8, "-n", "32", "-N", "4", "--degree", "2", "--copy-agent", "-l", bin("mpisum.openmpi"), "-a")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Len(t, r.lines(), 32)
	for i := range 32 {
		require.Contains(t, r.stdout, fmt.Sprintf("[%d] rank %d of 32 on n%03d: sum 528 ok\n", i, i, i/4+1))
	}
	// The program itself may be brought, too.
	r = over(t, c, 2, "-n", "2", "-N", "1", "--stage", bin("mpisum.openmpi"), bin("mpisum.openmpi"))
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"rank 0 of 2 on n001: sum 3 ok", "rank 1 of 2 on n002: sum 3 ok"}, r.lines())
	nothingLeft(t, c, firstNodes(c, 8)...)
}

func TestOpenMPIHere(t *testing.T) {
	needOpenMPI(t)
	for name, args := range map[string][]string{
		"by its path":              {bin("mpisum.openmpi"), "-a"},
		"along the ranks' PATH":    {"-x", "PATH=" + built + ":/usr/bin:/bin", "mpisum.openmpi", "-a"},
		"from its directory":       {"--wdir", built, "./mpisum.openmpi", "-a"},
		"over a port":              {"--mpi", "openmpi", "--pmi-port", bin("mpisum.openmpi"), "-a"},
		"on nodes of this machine": {"--nodes", "2", bin("mpisum.openmpi"), "-a"},
		"inside a script":          {"sh", "-c", "exec " + bin("mpisum.openmpi") + " -a; true"},
		"as Flux's":                {"--mpi", "openmpi", "sh", "-c", "exec " + bin("mpisum.openmpi") + " -a; true"},
	} {
		t.Run(name, func(t *testing.T) {
			twoRanksAddUp(t, append([]string{"-n", "2"}, args...)...)
		})
	}
}

// twoRanksAddUp runs mpisum here, as a line says, of which both ranks are heard.
func twoRanksAddUp(t *testing.T, line ...string) {
	t.Helper()
	r := local(t, "", line...)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Len(t, r.lines(), 2)
	require.Contains(t, r.stdout, "rank 0 of 2 on ")
	require.Contains(t, r.stdout, "rank 1 of 2 on ")
}

func TestOpenMPIAbort(t *testing.T) {
	needOpenMPI(t)
	r := local(t, "", "-n", "4", "--nodes", "2", bin("mpiabort.openmpi"), "2", "9")
	require.Equal(t, 9, r.code, r.stderr)
	require.Regexp(t, `golaunch: rank 2 on \S+ \(pid \d+\) called abort with code 9\n`, r.stderr)
}

// Leftovers of Open MPI's killed ranks in shared memory and in /tmp are removed, as by
// mpirun, and nothing of another's.
func TestOpenMPILeavesNothing(t *testing.T) {
	t.Parallel()
	needOpenMPI(t)
	c := ownCluster(t, 2)
	const look = "ls -A /dev/shm /tmp | grep -e vader -e ompi; true"
	others := []string{"vader_segment.n001.0.3c0a6155.0", "vader_segment.n001.0.1.x"}
	for _, node := range firstNodes(c, 2) {
		for _, name := range others {
			shell(t, c, node, "touch /dev/shm/"+name)
		}
	}
	for _, args := range [][]string{{bin("mpiabort.openmpi"), "2", "9"}, {bin("mpidie.openmpi"), "1", "segv"}} {
		r := over(t, c, 2, append([]string{"-n", "4", "-N", "2"}, args...)...)
		require.NotZero(t, r.code)
		for _, node := range firstNodes(c, 2) {
			require.Eventually(t, func() bool { return len(strings.Fields(shell(t, c, node, look))) <= len(others) }, limit, 100*time.Millisecond, node)
			require.ElementsMatch(t, others, strings.Fields(shell(t, c, node, look)), r.stderr)
		}
	}
}

// lonelyGolaunch is a golaunch without its lib directory.
func lonelyGolaunch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(built, "lonely-") // of the same file system
	require.NoError(t, err)
	lonely := filepath.Join(dir, "bin", "golaunch") // beside which lib is sought
	require.NoError(t, os.Mkdir(filepath.Dir(lonely), 0o755))
	require.NoError(t, os.Link(bin("golaunch"), lonely))
	return lonely
}

// The classic failure, every rank a world of its own, is one: where the program's file shows
// Open MPI, and where its process does.
func TestAWorldOfOneIsAnError(t *testing.T) {
	t.Parallel()
	needOpenMPI(t)
	lonely := lonelyGolaunch(t)
	cmd := exec.Command(lonely, "-n", "2", "--nodes", "2", bin("mpisum.openmpi"))
	r := finish(t, cmd, cmd, "")
	require.Equal(t, 125, r.code, r.stderr)
	require.Empty(t, r.stdout)
	require.Regexp(t, `(?m)^golaunch: rank \d on \S+ was not started: mpisum.openmpi: Open MPI's ranks would not find each other: libmpiinit.so was not found beside golaunch, in lib/golaunch; build it with make build$`, r.stderr)

	const alone = `(?m)^golaunch: rank 0 on \S+ \(pid \d+\) is a world of its own, rank 0 of 1: libmpi.so\S+: what finds golaunch for Open MPI could not be preloaded`
	for name, x := range map[string]struct {
		line  []string
		wrong bool
	}{
		"of a script":       {[]string{"sh", "-c", "unset GOLAUNCH_MPI_PIPE; exec " + bin("mpisum.openmpi") + " -w"}, true},
		"of an executable":  {[]string{"env", "-u", "GOLAUNCH_MPI_PIPE", bin("mpisum.openmpi"), "-w"}, true},
		"of a tool":         {[]string{"sh", "-c", "env -u GOLAUNCH_MPI_PIPE " + bin("mpisum.openmpi") + " -w; true"}, false}, // that ranks start
		"as the user likes": {[]string{"--mpi", "none", "sh", "-c", bin("mpisum.openmpi")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(bin("golaunch"), append([]string{"-v", "-n", "2", "--stdin", "all"}, x.line...)...)
			stdin, err := cmd.StdinPipe()
			require.NoError(t, err)
			lines, _ := hear(t, cmd, cmd, func(line string) {
				if strings.Contains(line, " uses libmpi") {
					_ = stdin.Close() // the ranks end; it may be said more than once
				}
			})
			require.Equal(t, x.wrong, cmd.ProcessState.ExitCode() == 125, "%q", lines)
			require.Equal(t, x.wrong, cmd.ProcessState.ExitCode() != 0, "%q", lines)
			if x.wrong {
				require.Regexp(t, alone, strings.Join(lines, "\n"))
			}
		})
	}

	r = local(t, "", "-n", "2", "--mpi", "none", bin("mpisum.openmpi"))
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "rank 0 of 1", "which was asked for")
	require.Empty(t, r.stderr)

	r = local(t, "", "-n", "2", "--mpi", "openmpi", "-x", "FLUX_PMI_LIBRARY_PATH=/nowhere.so", bin("mpisum.openmpi"))
	require.Contains(t, r.stdout, "rank 0 of 1")
	require.Regexp(t, `^golaunch: host \S+: mpisum.openmpi never asked golaunch who it is; if its ranks each say that they are 0 of 1, the FLUX_PMI_LIBRARY_PATH that you set may not fit; without it golaunch sets its own\n$`, r.stderr)
}

// In lines of mpirun it works, and programs without MPI are none of its business.
func TestMPIInAScriptOfMpirun(t *testing.T) {
	needOpenMPI(t)
	r := local(t, "", "mpirun", "-np", "2", "-l", "sh", "-c", bin("mpisum.openmpi")+"; true")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "[0] rank 0 of 2 ")
	require.Empty(t, r.stderr)
	r = local(t, "", "mpirun.openmpi", "-np", "2", "sleep", "0.3") // long enough to be looked at
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
}

// Libraries of both kinds, and golaunch's own, put and read back values as long
// as they allow.
func TestValueSizes(t *testing.T) {
	for _, x := range []struct {
		client   []string
		packages string
		message  string
	}{
		{[]string{"pmivalues", "-b"}, "gcc", "rank 2 of 3: up to 1023 bytes ok\n"},
		// It cuts what the server offers by what else its line may hold.
		{[]string{"pmivalues.mpich"}, "libmpich-dev", "rank 2 of 3: up to 673 bytes ok\n"},
		{[]string{"pmi2client", "-n", "1"}, "libpmi2-0-dev", "rank 2 of 3 ok\n"}, // of 1023 bytes
	} {
		t.Run(x.client[0], func(t *testing.T) {
			needBuilt(t, x.client[0], x.packages)
			r := local(t, "", append([]string{"-n", "3", "--nodes", "3", bin(x.client[0])}, x.client[1:]...)...)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.Contains(t, r.stdout, x.message)
			require.Len(t, r.lines(), 3)
		})
	}
}

// Nor where agent and warden of a node are killed while ranks of Open MPI run there.
func TestOpenMPILeavesNothingOfALostNode(t *testing.T) {
	t.Parallel()
	needOpenMPI(t)
	c := ownCluster(t, 2)
	ours := func(string) bool { return true }
	j, err := trial.Start(c, []string{bin("golaunch"), "-H", hostsArg(2), "--ssh-config", c.SSHConfig(), "-n", "4", "-N", "2", bin("mpidie.openmpi"), "0", "never"}, nil, ours)
	require.NoError(t, err)
	require.NoError(t, j.Await())
	require.NoError(t, j.KillBoth("n002"))
	code, err := j.End(limit)
	require.NoError(t, err)
	require.Equal(t, 125, code, j.Stderr.String())
	nothingOfPMIxLeft(t, c, firstNodes(c, 2)...)
}
