package e2e

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStallsAreNamed has ranks wait for one that never joins, or does nothing, and
// all for messages: golaunch says once for whom, while the job goes on.
func TestStallsAreNamed(t *testing.T) {
	t.Parallel()
	const waits = ", waits for rank 4, which has not entered it"
	for _, x := range []struct{ operation, client, message string }{
		{"barrier", "absent", "barrier, operation 0 of the world" + waits},
		{"barrier", "stays", "barrier, operation 2 of the world" + waits},
		{"fence", "absent", "fence, number 0 of the world" + waits},
		{"recv", "waits", "every rank waits for a message that does not come: rank 0 for a message of rank 4 with tag 1 over the world; "},
	} {
		t.Run(x.operation+", "+x.client, func(t *testing.T) {
			cmd := exec.Command(bin("golaunch"), "-n", "5", "--nodes", "3", "--degree", "1", "--stall-after", "200ms", bin("treeleave"), x.operation, x.client)
			lines, ended := hear(t, cmd, cmd, func(line string) {
				if strings.Contains(line, x.message) {
					require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				}
			})
			require.Error(t, ended)
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), lines)
			require.Equal(t, 1, strings.Count(strings.Join(lines, "\n"), "golaunch: after 200ms: "+x.message), lines)
		})
	}
}

// TestWhoKeepsOthersInInitIsNamed has ranks of real MPI programs wait in MPI_Init for
// one that never calls it. Where that one has ended, MPI_Init fails, and where not, the job
// goes on: both is said.
func TestWhoKeepsOthersInInitIsNamed(t *testing.T) {
	t.Parallel()
	needMPI(t)
	for program, messages := range map[string][2]string{
		"mpisum": {`MPI_Init, which needs all ranks, fails for the others \(what is no MPI program is to be started by a golaunch of its own\)`,
			`.*, in MPI_Init \(PMI\)`},
		"mpisum.openmpi": {`the PMIx fence that others wait in cannot complete, and fails for them`, `called abort with code \d+`},
	} {
		t.Run(program+" ended", func(t *testing.T) {
			if program == "mpisum.openmpi" {
				needOpenMPI(t)
			}
			r := local(t, "", "--nodes", "3", "--degree", "1", "-n", "2", bin(program), ":", "-n", "1", "true", ":", "-n", "1", bin(program))
			require.NotZero(t, r.code)
			require.Regexp(t, `(?m)^golaunch: hosts? \S+: rank 2 on \S+ has ended without having called MPI_Init: `+messages[0]+`$`, r.stderr)
			require.Regexp(t, `(?m)^golaunch: rank [013] on \S+ \(pid \d+\) `+messages[1]+`$`, r.stderr)
		})
		t.Run(program+" busy", func(t *testing.T) {
			if program == "mpisum.openmpi" {
				needOpenMPI(t)
			}
			cmd := exec.Command(bin("golaunch"), "--nodes", "3", "--degree", "1", "--stall-after", "500ms", "-n", "1", "sleep", "1000", ":", "-n", "3", bin(program))
			named := regexp.MustCompile(`^golaunch: after 500ms: ranks 1-3 wait in MPI_Init for rank 0 on \S+, which has not called it$`)
			lines, ended := hear(t, cmd, cmd, func(line string) {
				if named.MatchString(line) {
					require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				}
			})
			require.Error(t, ended)
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), lines)
		})
	}
	// A job whose time is up says it, too.
	r := local(t, "", "--nodes", "2", "--timeout", "10s", "--stall-after", "0", "-n", "1", bin("pmiclient"), ":", "-n", "1", "sleep", "1000")
	require.Equal(t, 124, r.code)
	require.Regexp(t, `(?m)^golaunch: at that time: rank 0 waits in MPI_Init for rank 1 on \S+, which has not called it`, r.stderr)
}

// TestStallsOfSpawnedWorldsAreNamed has ranks of a spawned world wait, while those of
// the first have ended, or compute.
func TestStallsOfSpawnedWorldsAreNamed(t *testing.T) {
	t.Parallel()
	spawn := bin("spawnclient") + " 5 -- " + bin("treeleave")
	for script, message := range map[string]string{
		"exec " + spawn + " barrier absent":      "world 1: barrier, operation 0 of the world, waits for rank 4, which has not entered it",
		spawn + " fence absent; exec sleep 1000": "world 1: fence, number 0 of the world, waits for rank 4, which has not entered it",
		"exec " + spawn + " recv waits":          `every rank waits for a message that does not come: world 1: rank \d for a message of rank \d with tag 1 over the world; `,
	} {
		t.Run(strings.ReplaceAll(script, built+"/", ""), func(t *testing.T) {
			t.Parallel()
			r := local(t, "", four("-n", "1", "--timeout", "10s", "--stall-after", "1s", "sh", "-c", script)...)
			require.Equal(t, 124, r.code, r.stderr)
			require.Len(t, regexp.MustCompile("golaunch: after 1s: "+message).FindAllString(r.stderr, -1), 1, r.stderr)
			require.Regexp(t, "golaunch: at that time: "+message, r.stderr)
		})
	}
}

// TestWhatATimeoutFindsIsNamed is the same at the end of a job whose time is up.
func TestWhatATimeoutFindsIsNamed(t *testing.T) {
	t.Parallel()
	r := local(t, "", "-n", "5", "--nodes", "3", "--timeout", "10s", "--stall-after", "0", bin("treeleave"), "barrier", "absent")
	require.Equal(t, 124, r.code)
	require.Contains(t, r.stderr, "golaunch: at that time: barrier, operation 0 of the world, waits for rank 4, which has not entered it\n")
	require.NotContains(t, r.stderr, "golaunch: after ")
}
