package e2e

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// Debian 12's MPICH hangs in MPI_Finalize when it has sent over a network.
func TestMPICHEnds(t *testing.T) {
	t.Parallel()
	needBuilt(t, "mpilate", "libmpich-dev mpich")
	c := ownCluster(t, 2)
	shared := bin("lib/golaunch/libmpichfinalize.so")
	for name, x := range map[string]struct {
		args    []string
		preload string // of children of the ranks
	}{
		"as it is":                {[]string{bin("mpilate")}, ""},
		"with the user's own":     {[]string{"-x", "LD_PRELOAD=libm.so.6", bin("mpilate")}, "libm.so.6"},
		"with what users knew":    {[]string{"-x", "LD_PRELOAD=libm.so.6:" + shared, bin("mpilate")}, "libm.so.6"},
		"in a script":             {[]string{"sh", "-c", "exec " + bin("mpilate")}, ""},
		"as the user says":        {[]string{"--mpi", "mpich", "sh", "-c", "exec " + bin("mpilate")}, ""},
		"opened at run time":      {[]string{bin("mpilate.opened")}, ""},
		"one of several":          {[]string{":", "-n", "2", "-x", "LD_PRELOAD=libm.so.6", bin("mpilate")}, ""},
		"by a relative directory": {[]string{"--wdir", ".", "-x", "PATH=" + built, "mpilate"}, ""},
		"from another directory":  {[]string{"--wdir", built, "./mpilate"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"-N", "2", "--timeout", limit.String(), "-n", "4"}, x.args...)
			if x.args[0] == ":" {
				args = append([]string{"-N", "2", "--timeout", limit.String(), "-n", "2", bin("mpilate")}, x.args...)
			}
			r := over(t, c, 2, args...)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.Len(t, r.lines(), 8)
			for _, rank := range []string{"0", "1", "2", "3"} {
				require.Contains(t, r.lines(), "rank "+rank+" done")
			}
			require.Contains(t, r.lines(), "rank 0: LD_PRELOAD="+x.preload)
		})
	}
	// The program may be brought, too, and its loader is asked where it then is.
	r := over(t, c, 2, "-n", "4", "-N", "2", "-v", "--stage", bin("mpilate"), bin("mpilate"))
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `(?m)^golaunch: host n001: mpilate uses MPICH \S+ \(ch4:ucx, \S+/libmpich\.so\.12\) and gets libmpichfinalize\.so, which ends the hang of MPICH 3\.4 to 4\.1 in MPI_Finalize \(--mpi none leaves it\)$`, r.stderr)
	nothingLeft(t, c, firstNodes(c, 2)...)
}

// Messages sent without a wait for their end end in MPI_Finalize, also over a network.
func TestMPICHEndsWhatNobodyWaitedFor(t *testing.T) {
	t.Parallel()
	needBuilt(t, "mpifree", "libmpich-dev mpich")
	c := ownCluster(t, 2)
	for name, args := range map[string][]string{
		"linked":    {bin("mpifree")},
		"preloaded": {"sh", "-c", "exec " + bin("mpifree")},
	} {
		t.Run(name, func(t *testing.T) {
			r := over(t, c, 2, append([]string{"-N", "2", "--timeout", limit.String(), "-n", "4"}, args...)...)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.ElementsMatch(t, []string{"rank 0 done", "rank 1 done", "rank 2 done", "rank 3 done"}, r.lines())
		})
	}
	nothingLeft(t, c, firstNodes(c, 2)...)
}

// Without the fix, or where nobody knew that it was needed, the ranks that hang are
// named; with it, those that would.
func TestMPICHThatHangsIsExplained(t *testing.T) {
	t.Parallel()
	needBuilt(t, "mpilate", "libmpich-dev mpich")
	c := ownCluster(t, 2)
	// One of the first node's ranks may wait for the other's acknowledgement.
	const hang = `(?m)^golaunch: (rank [01] on n001, )?ranks 2-3 on n002 have kept all others waiting in MPI_Finalize for 10s; ` +
		`if they are in it, too, `
	const mpich = `the hang of MPICH \S+ \(ch4:ucx, \S+/libmpich.so.12\S*\): `
	t.Run("all", func(t *testing.T) { // until all have ended the cluster is up
		for name, x := range map[string]struct {
			args    []string
			message string
			ends    bool // by itself
		}{
			"left as it is":  {[]string{"--no-mpich-fix", bin("mpilate"), "1000"}, hang + "that is " + mpich + "golaunch ends it without --mpi none$", false},
			"a script":       {[]string{"sh", "-c", "unset GOLAUNCH_MPI_PIPE; " + bin("mpilate") + " 1000; true"}, hang + "that is " + mpich + "--mpi mpich ends it$", false},
			"late, not hung": {[]string{bin("mpilate"), "25"}, hang + `they hang although libmpichfinalize\.so is loaded, which should end ` + mpich + "please report where gdb shows it$", true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				args := append([]string{bin("golaunch"), "-H", hostsArg(2), "--ssh-config", c.SSHConfig(), "-n", "4", "-N", "2"}, x.args...)
				cmd := c.Command(cluster.Head, args...)
				lines, ended := hear(t, cmd, cmd.Cmd, func(line string) {
					if !x.ends && strings.Contains(line, "hang of MPICH") {
						require.NoError(t, cmd.Signal(syscall.SIGINT))
					}
				})
				text := strings.Join(lines, "\n")
				require.Regexp(t, x.message, text)
				if x.ends {
					require.NoError(t, ended, text)
					return
				}
				require.Equal(t, 130, cmd.ProcessState.ExitCode(), text)
			})
		}
	})
	nothingLeft(t, c, firstNodes(c, 2)...)
}

func TestMPICHWithoutTheFix(t *testing.T) {
	needMPI(t)
	cmd := exec.Command(lonelyGolaunch(t), "-n", "2", "--nodes", "2", bin("mpiabort"), "0", "9") // never comes to MPI_Finalize
	r := finish(t, cmd, cmd, "")
	require.Equal(t, 9, r.code, r.stderr)
	require.Regexp(t, `(?m)^golaunch: host \S+: mpiabort uses MPICH \S+ \(ch4:ucx, \S+\) and may hang in MPI_Finalize: libmpichfinalize.so was not found beside golaunch, in lib/golaunch; build it with make build\n`, r.stderr)
}

func TestMPICHFixIsTheUsersChoice(t *testing.T) {
	needMPI(t)
	r := local(t, "", "-v", "-n", "2", "--no-mpich-fix", bin("mpiabort"), "0", "9")
	require.Equal(t, 9, r.code, r.stderr)
	require.NotContains(t, r.stderr, "MPI_Finalize")

	// Programs that link no such MPICH are left alone.
	for _, program := range [][]string{{"/bin/bash", "-c", "echo $LD_PRELOAD"}, {"sh", "-c", "echo $LD_PRELOAD"}} {
		r = local(t, "", append([]string{"-n", "1"}, program...)...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, os.Getenv("LD_PRELOAD")+"\n", r.stdout)
	}
	r = local(t, "", "--mpich-fix", "--no-mpich-fix", "true")
	require.Equal(t, 2, r.code)
	require.Equal(t, "golaunch: --mpich-fix and --no-mpich-fix exclude each other\n", r.stderr)
}
